import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.SchemaDefinition;
import org.apache.pulsar.common.schema.SchemaInfo;

/**
 * The schemas of classes by Pulsar's Java client. Arguments: the output file, AVRO or JSON, alwaysAllowNull,
 * jsr310ConversionEnabled, and class names. The file has a line for each class: the schema, then names and values of
 * its properties, in base64 and separated by commas.
 */
public final class ExtractSchema {
    private ExtractSchema() {}

    public static void main(String[] arguments) throws Exception {
        List<String> lines = new ArrayList<>();
        for (int position = 4; position < arguments.length; position++) {
            Class<?> pojo = Class.forName(arguments[position], true, Thread.currentThread().getContextClassLoader());
            lines.add(line(info(pojo, arguments[1], arguments[2], arguments[3])));
        }
        Files.write(Path.of(arguments[0]), lines);
    }

    @SuppressWarnings("unchecked")
    private static SchemaInfo info(Class<?> pojo, String type, String alwaysAllowNull, String jsr310) {
        SchemaDefinition<Object> definition = SchemaDefinition.<Object>builder()
                .withPojo((Class<Object>) pojo)
                .withAlwaysAllowNull(Boolean.parseBoolean(alwaysAllowNull))
                .withJSR310ConversionEnabled(Boolean.parseBoolean(jsr310))
                .build();
        return (type.equals("AVRO") ? Schema.AVRO(definition) : Schema.JSON(definition)).getSchemaInfo();
    }

    private static String line(SchemaInfo info) {
        StringBuilder line = new StringBuilder(Base64.getEncoder().encodeToString(info.getSchema()));
        for (Map.Entry<String, String> each : info.getProperties().entrySet()) {
            line.append(',').append(encoded(each.getKey())).append(',').append(encoded(each.getValue()));
        }
        return line.toString();
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
