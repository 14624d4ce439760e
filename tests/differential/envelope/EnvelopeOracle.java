import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.pulsar.client.impl.schema.ProtobufNativeSchemaUtils;
import org.apache.pulsar.client.impl.schema.ProtobufSchema;
import org.apache.pulsar.common.schema.SchemaInfo;

/**
 * Asks Pulsar's Java client for the schema of a message: one JSON request per line in, one answer out.
 *
 * <p>Requests: {"op":"class","name":N}, a generated class, with "classes" where it is in that folder rather than in a jar; and
 * {"op":"descriptors","files":base64,"file":F,"message":M}, a serialised FileDescriptorSet, what is imported first, whose file F has
 * the message M at its top; {"op":"info","name":N}, the same class as a schema of type PROTOBUF. Answers: {"verdict":true,
 * "envelope":text}, for the last {"verdict":true,"schema":text,"properties":{}}, or {"verdict":"error:SimpleClassName"} with "detail".
 */
public final class EnvelopeOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private EnvelopeOracle() {}

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(JSON.writeValueAsString(answer(JSON.readTree(line))));
            out.newLine();
        }
        out.flush();
    }

    private static ObjectNode answer(JsonNode request) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            if (request.get("op").textValue().equals("info")) {
                return info(loaded(request), answer);
            }
            Descriptor descriptor = request.get("op").textValue().equals("class") ? generated(request) : built(request);
            byte[] envelope = ProtobufNativeSchemaUtils.serialize(descriptor);
            answer.put("verdict", true).put("envelope", new String(envelope, StandardCharsets.UTF_8));
        } catch (Exception | LinkageError e) {
            answer.put("verdict", "error:" + e.getClass().getSimpleName()).put("detail", String.valueOf(e.getMessage()));
        }
        return answer;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static ObjectNode info(Class<?> generated, ObjectNode answer) {
        SchemaInfo info = ProtobufSchema.of((Class) generated).getSchemaInfo();
        answer.set("properties", JSON.valueToTree(info.getProperties()));
        return answer.put("verdict", true).put("schema", new String(info.getSchema(), StandardCharsets.UTF_8));
    }

    private static Descriptor generated(JsonNode request) throws Exception {
        return (Descriptor) loaded(request).getMethod("getDescriptor").invoke(null);
    }

    private static Class<?> loaded(JsonNode request) throws Exception {
        URL[] folders = request.has("classes")
                ? new URL[] {Paths.get(request.get("classes").textValue()).toUri().toURL()}
                : new URL[0];
        ClassLoader loader = new URLClassLoader(folders, EnvelopeOracle.class.getClassLoader());
        return Class.forName(request.get("name").textValue(), true, loader);
    }

    private static Descriptor built(JsonNode request) throws Exception {
        Map<String, FileDescriptor> built = new LinkedHashMap<>();
        for (FileDescriptorProto file : FileDescriptorSet.parseFrom(request.get("files").binaryValue()).getFileList()) {
            FileDescriptor[] imported = file.getDependencyList().stream().map(built::get).toArray(FileDescriptor[]::new);
            built.put(file.getName(), FileDescriptor.buildFrom(file, imported));
        }
        return built.get(request.get("file").textValue()).findMessageTypeByName(request.get("message").textValue());
    }
}
