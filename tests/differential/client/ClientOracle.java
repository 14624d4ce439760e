import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.Decoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.schema.AutoConsumeSchema;
import org.apache.pulsar.client.impl.schema.AutoProduceBytesSchema;
import org.apache.pulsar.client.impl.schema.KeyValueSchemaImpl;
import org.apache.pulsar.client.impl.schema.SchemaInfoImpl;
import org.apache.pulsar.client.impl.schema.StringSchema;
import org.apache.pulsar.client.impl.schema.generic.GenericAvroSchema;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;

/**
 * The bytes of values, and the values of bytes, of Pulsar's Java client: one JSON request per line in, one answer out.
 *
 * <p>A schema S is {"type":T,"properties":{}}, or {"type":"KEY_VALUE","key":S,"value":S,"encoding":E}. Requests:
 * {"op":"encode","schema":S,"value":V}, {"op":"decode","schema":S,"payload":base64}, and {"op":"again","schema":text,
 * "payload":base64}, an Avro message read and written as a generic consumer and producer do (by the schema "reader", where there is
 * one), and {"op":"send","info":{"type","schema":base64,"properties"},"payload"}, bytes given to a producer with AUTO_PRODUCE. A value V is null or a text (numbers
 * in decimal, FLOAT and DOUBLE as their bits, two numbers for INSTANT and LOCAL_DATE_TIME, base64 for BYTES), of a pair a
 * list of two. Answers: {"verdict":true} with "payload" or "value" ("key" too where the pair is SEPARATED), or
 * {"verdict":"error:SimpleClassName"} with "detail".
 */
public final class ClientOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ClientOracle() {}

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
            JsonNode schema = request.get("schema");
            switch (request.get("op").textValue()) {
                case "encode":
                    encode(schema, request.get("value"), answer);
                    break;
                case "decode":
                    answer.set("value", shown(schema, schema(schema).decode(request.get("payload").binaryValue())));
                    break;
                case "send":
                    answer.put("payload", send(request.get("info"), request.get("payload").binaryValue()));
                    break;
                default:
                    answer.put("payload", again(schema.textValue(), request.path("reader").asText(schema.textValue()),
                            request.get("payload").binaryValue()));
            }
            answer.put("verdict", true);
        } catch (Exception | OutOfMemoryError | StackOverflowError e) {
            answer.put("verdict", "error:" + e.getClass().getSimpleName()).put("detail", String.valueOf(e.getMessage()));
        }
        return answer;
    }

    private static byte[] send(JsonNode node, byte[] payload) throws IOException {
        Map<String, String> properties = new HashMap<>();
        node.get("properties").fields().forEachRemaining(each -> properties.put(each.getKey(), each.getValue().textValue()));
        SchemaInfo info = SchemaInfoImpl.builder().name("").type(SchemaType.valueOf(node.get("type").textValue()))
                .schema(node.get("schema").binaryValue()).properties(properties).build();
        AutoProduceBytesSchema<Object> schema = new AutoProduceBytesSchema<>(); // as the client sets it up on connecting
        Schema<?> topic = info.getType() == SchemaType.PROTOBUF ? new GenericAvroSchema(info) : Schema.getSchema(info);
        schema.setSchema((Schema<Object>) topic);
        return schema.encode(payload);
    }

    private static byte[] again(String text, String target, byte[] payload) throws IOException {
        org.apache.avro.Schema writer = new org.apache.avro.Schema.Parser().parse(text);
        org.apache.avro.Schema schema = new org.apache.avro.Schema.Parser().parse(target);
        GenericDatumReader<Object> reader = new GenericDatumReader<>(writer, schema) {
            @Override
            protected Object readString(Object old, org.apache.avro.Schema expected, Decoder in) throws IOException {
                return in.readString(); // as text, so that what is malformed shows
            }
        };
        Object value = reader.read(null, DecoderFactory.get().binaryDecoder(payload, null));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
        new GenericDatumWriter<>(schema).write(value, encoder);
        encoder.flush();
        return out.toByteArray();
    }

    private static void encode(JsonNode node, JsonNode written, ObjectNode answer) throws IOException {
        Object value = value(node, written);
        answer.put("payload", schema(node).encode(value));
        if (node.path("encoding").asText().equals("SEPARATED")) {
            Object key = ((KeyValue<?, ?>) value).getKey();
            answer.put("key", key == null ? null : schema(node.get("key")).encode(key));
        }
    }

    @SuppressWarnings("unchecked")
    private static Schema<Object> schema(JsonNode node) {
        SchemaType type = SchemaType.valueOf(node.get("type").textValue());
        if (type == SchemaType.KEY_VALUE) {
            Schema<?> pair = KeyValueSchemaImpl.of(schema(node.get("key")), schema(node.get("value")),
                    KeyValueEncodingType.valueOf(node.get("encoding").textValue()));
            return (Schema<Object>) pair;
        }
        Map<String, String> properties = new HashMap<>();
        node.get("properties").fields().forEachRemaining(each -> properties.put(each.getKey(), each.getValue().textValue()));
        SchemaInfo info = SchemaInfoImpl.builder().name("").type(type).schema(new byte[0]).properties(properties).build();
        Schema<?> schema = type == SchemaType.STRING
                ? StringSchema.fromSchemaInfo(info) // what AUTO_CONSUME takes is always UTF-8
                : AutoConsumeSchema.getSchema(info);
        return (Schema<Object>) schema;
    }

    private static Object value(JsonNode node, JsonNode written) {
        if (written.isNull()) {
            return null;
        }
        SchemaType type = SchemaType.valueOf(node.get("type").textValue());
        if (type == SchemaType.KEY_VALUE) {
            return new KeyValue<>(value(node.get("key"), written.get(0)), value(node.get("value"), written.get(1)));
        }
        String text = written.textValue();
        String[] parts = text.split(" ");
        switch (type) {
            case BOOLEAN: return Boolean.valueOf(text);
            case INT8: return Byte.valueOf(text);
            case INT16: return Short.valueOf(text);
            case INT32: return Integer.valueOf(text);
            case INT64: return Long.valueOf(text);
            case FLOAT: return Float.intBitsToFloat(Integer.parseUnsignedInt(text));
            case DOUBLE: return Double.longBitsToDouble(Long.parseUnsignedLong(text));
            case STRING: return text;
            case BYTES: return Base64.getDecoder().decode(text);
            case DATE: return new Date(Long.parseLong(text));
            case TIME: return new Time(Long.parseLong(text));
            case TIMESTAMP: return new Timestamp(Long.parseLong(text));
            case INSTANT: return Instant.ofEpochSecond(Long.parseLong(parts[0]), Long.parseLong(parts[1]));
            case LOCAL_DATE: return LocalDate.ofEpochDay(Long.parseLong(text));
            case LOCAL_TIME: return LocalTime.ofNanoOfDay(Long.parseLong(text));
            case LOCAL_DATE_TIME: return LocalDateTime.of(
                    LocalDate.ofEpochDay(Long.parseLong(parts[0])), LocalTime.ofNanoOfDay(Long.parseLong(parts[1])));
            default: throw new IllegalArgumentException(type.name());
        }
    }

    private static JsonNode shown(JsonNode node, Object value) {
        if (value == null) {
            return JSON.nullNode();
        }
        if (value instanceof KeyValue) {
            KeyValue<?, ?> pair = (KeyValue<?, ?>) value;
            return JSON.createArrayNode()
                    .add(shown(node.get("key"), pair.getKey())).add(shown(node.get("value"), pair.getValue()));
        }
        return JSON.getNodeFactory().textNode(text(value));
    }

    private static String text(Object value) {
        if (value instanceof Float) {
            return Integer.toUnsignedString(Float.floatToRawIntBits((Float) value));
        } else if (value instanceof Double) {
            return Long.toUnsignedString(Double.doubleToRawLongBits((Double) value));
        } else if (value instanceof byte[]) {
            return Base64.getEncoder().encodeToString((byte[]) value);
        } else if (value instanceof Date) { // Time and Timestamp too
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
        return value.toString(); // booleans, integers, text
    }
}
