// Pulsar's Java admin client, through all calls about schemas of one topic that does not exist yet. Arguments: the admin
// URL, a token, the file of the server's CA, and the topic. Each line of output is a JSON value.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.admin.Schemas;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.common.policies.data.SchemaCompatibilityStrategy;
import org.apache.pulsar.common.protocol.schema.PostSchemaPayload;
import org.apache.pulsar.common.schema.SchemaInfo;

public class SchemaTour {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[3], namespace = topic.replaceAll("^persistent://|/[^/]*$", "");
        try (PulsarAdmin admin = PulsarAdmin.builder().serviceHttpUrl(arguments[0])
                .authentication(AuthenticationFactory.token(arguments[1])).tlsTrustCertsFilePath(arguments[2]).build()) {
            Schemas schemas = admin.schemas();
            schemas.createSchema(topic, payload("a"));
            schemas.createSchema(topic, payload("a", "b"));
            SchemaInfo latest = schemas.getSchemaInfo(topic);
            print(new String(latest.getSchema()).equals(text("a", "b")));
            print(latest.getProperties());
            print(schemas.getSchemaInfoWithVersion(topic).getVersion());
            print(new String(schemas.getSchemaInfo(topic, 0).getSchema()).equals(text("a")));
            print(schemas.getAllSchemas(topic).size());
            print(schemas.testCompatibility(topic, payload("a", "b", "c")).isCompatibility());
            print(schemas.getVersionBySchema(topic, payload("a")));
            PostSchemaPayload other = new PostSchemaPayload("STRING", "", Map.of());
            print(error(() -> schemas.createSchema(topic, other)));
            schemas.deleteSchema(topic);
            print(error(() -> schemas.getSchemaInfo(topic)));
            admin.namespaces().setSchemaCompatibilityStrategy(namespace, SchemaCompatibilityStrategy.BACKWARD);
            print(admin.namespaces().getSchemaCompatibilityStrategy(namespace));
            admin.namespaces().setIsAllowAutoUpdateSchema(namespace, false);
            print(admin.namespaces().getIsAllowAutoUpdateSchema(namespace));
            admin.namespaces().setSchemaValidationEnforced(namespace, true);
            print(admin.namespaces().getSchemaValidationEnforced(namespace));
        }
    }

    private interface Action {
        void run() throws PulsarAdminException;
    }

    private static int error(Action action) {
        try {
            action.run();
            return 0;
        } catch (PulsarAdminException refused) {
            return refused.getStatusCode();
        }
    }

    private static PostSchemaPayload payload(String... fields) {
        return new PostSchemaPayload("AVRO", text(fields), Map.of("owner", "a"));
    }

    private static String text(String... fields) {
        StringBuilder text = new StringBuilder();
        for (String field : fields) {
            text.append(text.length() == 0 ? "" : ",").append("{\"name\":\"" + field + "\",\"type\":\"int\",\"default\":0}");
        }
        return "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" + text + "]}";
    }

    private static void print(Object value) throws Exception {
        System.out.println(JSON.writeValueAsString(value));
    }
}
