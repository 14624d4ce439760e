import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DynamicMessage;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.avro.generic.GenericFixed;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.Field;
import org.apache.pulsar.client.api.schema.GenericRecord;
import org.apache.pulsar.client.api.schema.SchemaInfoProvider;
import org.apache.pulsar.client.impl.schema.AutoConsumeSchema;
import org.apache.pulsar.client.impl.schema.KeyValueSchemaImpl;
import org.apache.pulsar.client.impl.schema.SchemaInfoImpl;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;

/**
 * The values that a consumer with AUTO_CONSUME gets from Pulsar's Java client: one JSON request per line in, one answer out.
 *
 * <p>A request is {"type":T,"schema":base64,"properties":{},"payload":base64}, with "key" where a pair is SEPARATED. The answer
 * is {"verdict":true,"value":V} or {"verdict":"error:SimpleClassName","detail"}. A value V is null, or a list of its kind and
 * itself: ["record",[[name,V]]] by the schema's fields (of PROTOBUF_NATIVE only whether one is there), ["json",tree], ["list",[V]], ["map",[[key,V]]] by their keys,
 * ["pair",[V,V]], ["bytes",base64], ["number",bits of the double, decimal], or ["text",text] for all else.
 */
public final class GenericOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final byte[] VERSION = new byte[8];

    private GenericOracle() {}

    public static void main(String[] arguments) throws IOException {
        JSON.getFactory().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
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
            Map<String, String> properties = new HashMap<>();
            request.get("properties").fields().forEachRemaining(each -> properties.put(each.getKey(), each.getValue().textValue()));
            SchemaInfo info = SchemaInfoImpl.builder().name("").type(SchemaType.valueOf(request.get("type").textValue()))
                    .schema(request.get("schema").binaryValue()).properties(properties).build();
            Schema<?> schema = AutoConsumeSchema.getSchema(info);
            schema.setSchemaInfoProvider(new OneVersion(info)); // as the client does, for schemas of messages are versions
            answer.set("value", shown(read(schema, request)));
            answer.put("verdict", true);
        } catch (Exception | OutOfMemoryError | StackOverflowError e) {
            answer.removeAll();
            answer.put("verdict", "error:" + e.getClass().getSimpleName()).put("detail", String.valueOf(e.getMessage()));
        }
        return answer;
    }

    private static Object read(Schema<?> schema, JsonNode request) throws IOException {
        byte[] payload = request.get("payload").binaryValue();
        if (schema instanceof KeyValueSchemaImpl) {
            KeyValueSchemaImpl<?, ?> pair = (KeyValueSchemaImpl<?, ?>) schema;
            if (pair.getKeyValueEncodingType() == KeyValueEncodingType.SEPARATED) { // as MessageImpl takes it apart
                return pair.decode(request.get("key").binaryValue(), payload, VERSION);
            }
        }
        return schema.decode(payload, VERSION);
    }

    private static final class OneVersion implements SchemaInfoProvider {
        private final SchemaInfo info;

        private OneVersion(SchemaInfo info) {
            this.info = info;
        }

        @Override
        public CompletableFuture<SchemaInfo> getSchemaByVersion(byte[] version) {
            return CompletableFuture.completedFuture(info);
        }

        @Override
        public CompletableFuture<SchemaInfo> getLatestSchema() {
            return CompletableFuture.completedFuture(info);
        }

        @Override
        public String getTopicName() {
            return "topic";
        }
    }

    private static JsonNode shown(Object value) {
        if (value == null) {
            return JSON.nullNode();
        } else if (value instanceof KeyValue) {
            KeyValue<?, ?> pair = (KeyValue<?, ?>) value;
            return of("pair", JSON.createArrayNode().add(shown(pair.getKey())).add(shown(pair.getValue())));
        } else if (value instanceof GenericRecord) {
            return record((GenericRecord) value);
        } else if (value instanceof List) {
            ArrayNode values = JSON.createArrayNode();
            ((List<?>) value).forEach(each -> values.add(shown(each)));
            return of("list", values);
        } else if (value instanceof Map) {
            Map<String, Object> sorted = new TreeMap<>();
            ((Map<?, ?>) value).forEach((name, each) -> sorted.put(name.toString(), each));
            ArrayNode entries = JSON.createArrayNode();
            sorted.forEach((name, each) -> entries.addArray().add(name).add(shown(each)));
            return of("map", entries);
        }
        return single(value);
    }

    private static JsonNode record(GenericRecord record) {
        ArrayNode fields = JSON.createArrayNode();
        for (Field field : record.getFields()) {
            fields.addArray().add(field.getName()).add(valueOf(record, field));
        }
        return of("record", fields);
    }

    private static JsonNode valueOf(GenericRecord record, Field field) {
        if (record.getSchemaType() == SchemaType.PROTOBUF_NATIVE) {
            DynamicMessage message = (DynamicMessage) record.getNativeObject();
            FieldDescriptor described = message.getDescriptorForType().findFieldByName(field.getName());
            boolean isSet = described.isRepeated() ? message.getRepeatedFieldCount(described) > 0 : message.hasField(described);
            return isSet ? of("text", JSON.getNodeFactory().textNode("set")) : JSON.nullNode();
        }
        Object member = record.getField(field);
        return member == null || record.getSchemaType() != SchemaType.JSON
                ? shown(member) : of("json", ((JsonNode) record.getNativeObject()).get(field.getName()));
    }

    private static JsonNode single(Object value) {
        if (value instanceof org.apache.avro.generic.GenericRecord) { // within lists and maps
            ArrayNode fields = JSON.createArrayNode();
            org.apache.avro.generic.GenericRecord record = (org.apache.avro.generic.GenericRecord) value;
            record.getSchema().getFields().forEach(
                    each -> fields.addArray().add(each.name()).add(shown(record.get(each.pos()))));
            return of("record", fields);
        } else if (value instanceof Number) {
            long bits = Double.doubleToLongBits(((Number) value).doubleValue());
            return of("number", JSON.createArrayNode().add(Long.toUnsignedString(bits))
                    .add(value instanceof Float || value instanceof Double ? "" : value.toString()));
        } else if (value instanceof ByteBuffer) {
            ByteBuffer buffer = ((ByteBuffer) value).duplicate();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return bytes(bytes);
        } else if (value instanceof GenericFixed) {
            return bytes(((GenericFixed) value).bytes());
        } else if (value instanceof byte[]) {
            return bytes((byte[]) value);
        }
        return of("text", JSON.getNodeFactory().textNode(text(value)));
    }

    private static JsonNode bytes(byte[] value) {
        return of("bytes", JSON.getNodeFactory().textNode(Base64.getEncoder().encodeToString(value)));
    }

    private static JsonNode of(String kind, JsonNode value) {
        return JSON.createArrayNode().add(kind).add(value);
    }

    private static String text(Object value) {
        if (value instanceof Date) { // Time and Timestamp too
            return Long.toString(((Date) value).getTime());
        } else if (value instanceof Instant) {
            return ((Instant) value).getEpochSecond() + " " + ((Instant) value).getNano();
        } else if (value instanceof LocalDate) {
            return Long.toString(((LocalDate) value).toEpochDay());
        } else if (value instanceof LocalTime) {
            return Long.toString(((LocalTime) value).toNanoOfDay());
        } else if (value instanceof LocalDateTime) {
            LocalDateTime time = (LocalDateTime) value;
            return time.toLocalDate().toEpochDay() + " " + time.toLocalTime().toNanoOfDay();
        }
        return value.toString(); // booleans, symbols, text
    }
}
