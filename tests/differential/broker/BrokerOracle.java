import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.Descriptors.Descriptor;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.broker.service.schema.AvroSchemaCompatibilityCheck;
import org.apache.pulsar.broker.service.schema.JsonSchemaCompatibilityCheck;
import org.apache.pulsar.broker.service.schema.KeyValueSchemaCompatibilityCheck;
import org.apache.pulsar.broker.service.schema.ProtobufNativeSchemaCompatibilityCheck;
import org.apache.pulsar.broker.service.schema.SchemaCompatibilityCheck;
import org.apache.pulsar.broker.service.schema.exceptions.IncompatibleSchemaException;
import org.apache.pulsar.broker.service.schema.exceptions.InvalidSchemaDataException;
import org.apache.pulsar.broker.service.schema.validator.SchemaDataValidator;
import org.apache.pulsar.client.impl.schema.KeyValueSchemaInfo;
import org.apache.pulsar.client.impl.schema.ProtobufNativeSchemaUtils;
import org.apache.pulsar.client.impl.schema.SchemaInfoImpl;
import org.apache.pulsar.client.impl.schema.SchemaUtils;
import org.apache.pulsar.common.policies.data.SchemaCompatibilityStrategy;
import org.apache.pulsar.common.protocol.schema.SchemaData;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;

/**
 * The verdicts of the classes of a Pulsar broker on schemas: one JSON request per line in, one JSON answer per line out.
 *
 * <p>A schema S is {"type":T,"schema":base64,"properties":{}}. Requests: {"op":"validate","schema":S} (what an upload does
 * first), {"op":"check","existing":[S],"candidate":S,"strategy":N,"all":B} (the type's checker, by its list form or by its
 * form for the latest version), {"op":"convert","text":T} (a KEY_VALUE's REST form into bytes), {"op":"show","schema":S}
 * (the reverse, as GET does), {"op":"pair","schema":S}, {"op":"join","name":N,"key":S,"value":S,"encoding":E} (as the
 * client does), {"op":"root","schema":S} (of a PROTOBUF_NATIVE envelope).
 * Answers: {"verdict":true|false} or {"verdict":"error:SimpleClassName"}, with "detail" after an exception, and
 * "result" where there is one.
 */
public final class BrokerOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<SchemaType, SchemaCompatibilityCheck> CHECKERS = new HashMap<>();

    static {
        CHECKERS.put(SchemaType.AVRO, new AvroSchemaCompatibilityCheck());
        CHECKERS.put(SchemaType.JSON, new JsonSchemaCompatibilityCheck());
        CHECKERS.put(SchemaType.PROTOBUF_NATIVE, new ProtobufNativeSchemaCompatibilityCheck());
        CHECKERS.put(SchemaType.KEY_VALUE, new KeyValueSchemaCompatibilityCheck(CHECKERS));
    }

    private BrokerOracle() {}

    public static void main(String[] arguments) throws IOException {
        JSON.getFactory().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
        System.setErr(new PrintStream(OutputStream.nullOutputStream())); // the broker's classes print stack traces
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(JSON.writeValueAsString(answer(JSON.readTree(line))));
            out.newLine();
            if (!in.ready()) {
                out.flush();
            }
        }
        out.flush();
    }

    private static ObjectNode answer(JsonNode request) {
        ObjectNode answer = JSON.createObjectNode().put("verdict", true);
        try {
            run(request, answer);
        } catch (IncompatibleSchemaException | InvalidSchemaDataException e) {
            answer.put("verdict", false).put("detail", text(e));
        } catch (Exception | StackOverflowError | OutOfMemoryError e) {
            answer.put("verdict", "error:" + e.getClass().getSimpleName()).put("detail", text(e));
        }
        return answer;
    }

    private static void run(JsonNode request, ObjectNode answer) throws Exception {
        String operation = request.get("op").asText();
        switch (operation) {
            case "validate":
                SchemaDataValidator.validateSchemaData(data(request.get("schema")));
                break;
            case "check":
                check(request);
                break;
            case "convert":
                byte[] text = request.get("text").textValue().getBytes(StandardCharsets.UTF_8);
                answer.put("result", SchemaUtils.convertKeyValueDataStringToSchemaInfoSchema(text));
                break;
            case "show":
                KeyValue<SchemaInfo, SchemaInfo> shown = pair(request.get("schema"));
                answer.put("result", SchemaUtils.convertKeyValueSchemaInfoDataToString(shown));
                break;
            case "pair":
                KeyValue<SchemaInfo, SchemaInfo> pair = pair(request.get("schema"));
                ObjectNode both = answer.putObject("result");
                put(both.putObject("key"), pair.getKey());
                put(both.putObject("value"), pair.getValue());
                both.put("encoding", KeyValueSchemaInfo.decodeKeyValueEncodingType(info("", request.get("schema"))).name());
                break;
            case "join":
                put(answer.putObject("result"), KeyValueSchemaInfo.encodeKeyValueSchemaInfo(
                        "", info(request.get("keyName").textValue(), request.get("key")),
                        info(request.get("valueName").textValue(), request.get("value")),
                        KeyValueEncodingType.valueOf(request.get("encoding").textValue())));
                break;
            case "root":
                Descriptor root = ProtobufNativeSchemaUtils.deserialize(data(request.get("schema")).getData());
                if (root == null) {
                    answer.put("verdict", false);
                } else {
                    answer.put("result", root.getFullName());
                    answer.put("envelope", ProtobufNativeSchemaUtils.serialize(root));
                }
                break;
            default:
                throw new IllegalArgumentException(operation);
        }
    }

    private static void check(JsonNode request) throws IncompatibleSchemaException {
        List<SchemaData> existing = new ArrayList<>();
        request.get("existing").forEach(each -> existing.add(data(each)));
        SchemaData candidate = data(request.get("candidate"));
        SchemaCompatibilityStrategy strategy = SchemaCompatibilityStrategy.valueOf(request.get("strategy").textValue());
        SchemaCompatibilityCheck checker = CHECKERS.getOrDefault(candidate.getType(), SchemaCompatibilityCheck.DEFAULT);
        if (request.get("all").booleanValue()) {
            checker.checkCompatible(existing, candidate, strategy);
        } else {
            checker.checkCompatible(existing.get(existing.size() - 1), candidate, strategy);
        }
    }

    private static KeyValue<SchemaInfo, SchemaInfo> pair(JsonNode schema) {
        return KeyValueSchemaInfo.decodeKeyValueSchemaInfo(info("", schema));
    }

    private static void put(ObjectNode node, SchemaInfo info) {
        node.put("name", info.getName()).put("type", info.getType().name()).put("schema", info.getSchema());
        node.set("properties", JSON.valueToTree(info.getProperties()));
    }

    private static SchemaInfo info(String name, JsonNode schema) {
        SchemaData data = data(schema);
        return SchemaInfoImpl.builder().name(name).type(data.getType()).schema(data.getData())
                .properties(data.getProps()).build();
    }

    private static SchemaData data(JsonNode schema) {
        Map<String, String> properties = new HashMap<>();
        schema.get("properties").fields().forEachRemaining(e -> properties.put(e.getKey(), e.getValue().textValue()));
        try {
            return SchemaData.builder().type(SchemaType.valueOf(schema.get("type").textValue()))
                    .data(schema.get("schema").binaryValue()).user("").timestamp(0).props(properties).build();
        } catch (IOException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static String text(Throwable thrown) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = thrown; each != null && text.length() < 600; each = each.getCause()) {
            text.append(each.getClass().getSimpleName()).append(": ").append(each.getMessage()).append(" | ");
        }
        return text.substring(0, Math.min(text.length(), 600));
    }
}
