// Pulsar's Java admin client: one line of input per topic (persistent://tenant/namespace/name), one line of output:
// the JSON list of its schemas, oldest first; `schema` is base64. Arguments: the admin URL, and for a secured broker a
// token and the file of its CA.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminBuilder;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.common.schema.SchemaInfo;

public class SchemaReader {
    public static void main(String[] arguments) throws Exception {
        PulsarAdminBuilder builder = PulsarAdmin.builder().serviceHttpUrl(arguments[0]);
        if (arguments.length > 1) {
            builder.authentication(AuthenticationFactory.token(arguments[1])).tlsTrustCertsFilePath(arguments[2]);
        }
        try (PulsarAdmin admin = builder.build();
                BufferedReader topics = new BufferedReader(new InputStreamReader(System.in))) {
            for (String topic = topics.readLine(); topic != null; topic = topics.readLine()) {
                System.out.println(new ObjectMapper().writeValueAsString(schemas(admin, topic)));
            }
        }
    }

    private static List<Map<String, Object>> schemas(PulsarAdmin admin, String topic) throws Exception {
        List<Map<String, Object>> schemas = new ArrayList<>();
        for (SchemaInfo info : admin.schemas().getAllSchemas(topic)) {
            String schema = Base64.getEncoder().encodeToString(info.getSchema());
            schemas.add(Map.of("type", info.getType().name(), "schema", schema, "properties", info.getProperties()));
        }
        return schemas;
    }
}
