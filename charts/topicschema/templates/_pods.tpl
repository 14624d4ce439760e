{{/* Metadata and spec that the pods share. */}}

{{- define "topicschema.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: topicschema
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{- define "topicschema.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The container of .process (controller, webhook or registry), without privileges on its node. */}}
{{- define "topicschema.container" -}}
image: {{ include "topicschema.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
livenessProbe:
  httpGet: {path: /livez, port: probes}
  periodSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: probes}
  periodSeconds: 5
resources:
  {{- toYaml .process.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* Scheduling and identity of the pod. */}}
{{- define "topicschema.placing" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .process.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .process.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .process.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "topicschema.env" -}}
- name: TOPICSCHEMA_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- {name: TOPICSCHEMA_PROBE_PORT, value: "8081"}
- {name: TOPICSCHEMA_LOG_LEVEL, value: {{ .process.logLevel | quote }}}
{{- with .root.Values.schemaRegistryStorage }}
{{- if ne .name "kubernetes" }}
- {name: TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE, value: {{ .name | quote }}}
{{- end }}
{{- if .secretRef }}
- {name: TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL_FILE, value: {{ printf "/storage/%s" .secretRef.key | quote }}}
{{- end }}
{{- end }}
{{- end -}}
