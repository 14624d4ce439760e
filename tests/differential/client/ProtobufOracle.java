import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.MapEntry;
import com.google.protobuf.Message;
import com.google.protobuf.WireFormat;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.pulsar.client.impl.schema.SchemaInfoImpl;
import org.apache.pulsar.client.impl.schema.generic.GenericProtobufNativeRecord;
import org.apache.pulsar.client.impl.schema.generic.GenericProtobufNativeSchema;
import org.apache.pulsar.common.schema.SchemaType;

/**
 * Asks Pulsar's Java client about PROTOBUF_NATIVE payloads: one JSON request per line in, one answer out.
 *
 * <p>{"op":"decode","schema":base64,"payload":base64} is answered with a "value", {"op":"encode","schema","value"} with a
 * "payload"; "verdict" is true or "error:SimpleClassName", with "detail". A message's value is the list of its fields that are set,
 * each [number, value], by their numbers; a repeated field's is a list, a map's the list of its entries, which are messages. Single
 * values are texts: numbers in decimal, floats as their bits, an enum's number, bytes in base64.
 *
 * <p>Entries of maps are written as the classes that protoc makes write them, with key and value whatever they are.
 */
public final class ProtobufOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, GenericProtobufNativeSchema> SCHEMAS = new HashMap<>();

    private ProtobufOracle() {}

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
            GenericProtobufNativeSchema schema = SCHEMAS.computeIfAbsent(request.get("schema").textValue(), ProtobufOracle::schema);
            if (request.get("op").textValue().equals("decode")) {
                GenericProtobufNativeRecord record =
                        (GenericProtobufNativeRecord) schema.decode(request.get("payload").binaryValue());
                answer.set("value", shown(record.getProtobufRecord()));
            } else {
                answer.put("payload", message(schema.getProtobufNativeSchema(), request.get("value")).toByteArray());
            }
            answer.put("verdict", true);
        } catch (Exception | OutOfMemoryError | StackOverflowError e) {
            answer.put("verdict", "error:" + e.getClass().getSimpleName()).put("detail", String.valueOf(e.getMessage()));
        }
        return answer;
    }

    private static GenericProtobufNativeSchema schema(String envelope) {
        SchemaInfoImpl info = SchemaInfoImpl.builder().name("").type(SchemaType.PROTOBUF_NATIVE)
                .schema(Base64.getDecoder().decode(envelope)).properties(new HashMap<>()).build();
        return new GenericProtobufNativeSchema(info);
    }

    private static ArrayNode shown(Message message) {
        ArrayNode fields = JSON.createArrayNode();
        new TreeMap<>(message.getAllFields()).forEach((field, value) -> {
            ArrayNode each = fields.addArray().add(field.getNumber());
            if (field.isRepeated()) {
                ArrayNode values = each.addArray();
                ((List<?>) value).forEach(one -> values.add(single(one)));
            } else {
                each.add(single(value));
            }
        });
        return fields;
    }

    private static JsonNode single(Object value) {
        if (value instanceof Message) {
            return shown((Message) value);
        } else if (value instanceof Float) {
            return text(Integer.toUnsignedString(Float.floatToRawIntBits((Float) value)));
        } else if (value instanceof Double) {
            return text(Long.toUnsignedString(Double.doubleToRawLongBits((Double) value)));
        } else if (value instanceof ByteString) {
            return text(Base64.getEncoder().encodeToString(((ByteString) value).toByteArray()));
        } else if (value instanceof EnumValueDescriptor) {
            return text(Integer.toString(((EnumValueDescriptor) value).getNumber()));
        }
        return text(value.toString());
    }

    private static JsonNode text(String text) {
        return JSON.getNodeFactory().textNode(text);
    }

    private static DynamicMessage message(Descriptor type, JsonNode fields) throws IOException {
        DynamicMessage.Builder builder = DynamicMessage.newBuilder(type);
        for (JsonNode each : fields) {
            FieldDescriptor field = type.findFieldByNumber(each.get(0).intValue());
            if (field.isRepeated()) {
                List<Object> values = new ArrayList<>();
                for (JsonNode one : each.get(1)) {
                    values.add(field.isMapField() ? entry(field.getMessageType(), one) : value(field, one));
                }
                builder.setField(field, values);
            } else {
                builder.setField(field, value(field, each.get(1)));
            }
        }
        return builder.build();
    }

    private static Message entry(Descriptor type, JsonNode fields) throws IOException {
        FieldDescriptor key = type.findFieldByNumber(1);
        FieldDescriptor value = type.findFieldByNumber(2);
        MapEntry<Object, Object> none = MapEntry.newDefaultInstance(
                type, wireType(key), absent(key), wireType(value), absent(value));
        Object held = value(value, fields.get(1).get(1));
        return none.toBuilder().setKey(value(key, fields.get(0).get(1)))
                .setValue(held instanceof EnumValueDescriptor ? ((EnumValueDescriptor) held).getNumber() : held).build();
    }

    private static WireFormat.FieldType wireType(FieldDescriptor field) {
        return WireFormat.FieldType.valueOf(field.getType().name());
    }

    private static Object absent(FieldDescriptor field) {
        switch (field.getJavaType()) {
            case MESSAGE: return DynamicMessage.getDefaultInstance(field.getMessageType());
            case ENUM: return 0;
            default: return field.getDefaultValue();
        }
    }

    private static Object value(FieldDescriptor field, JsonNode node) throws IOException {
        String text = node.asText();
        switch (field.getJavaType()) {
            case MESSAGE: return message(field.getMessageType(), node);
            case ENUM: return field.getEnumType().findValueByNumberCreatingIfUnknown(Integer.parseInt(text));
            case INT: return Integer.parseInt(text);
            case LONG: return Long.parseLong(text);
            case FLOAT: return Float.intBitsToFloat(Integer.parseUnsignedInt(text));
            case DOUBLE: return Double.longBitsToDouble(Long.parseUnsignedLong(text));
            case BOOLEAN: return Boolean.valueOf(text);
            case BYTE_STRING: return ByteString.copyFrom(node.binaryValue());
            default: return text;
        }
    }
}
