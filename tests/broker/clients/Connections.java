// What a broker answers to Pulsar's Java client when it connects: one line of input per attempt, in JSON: {"topic",
// "client": producer | consumer | reader, "type": a SchemaType, absent for none, "schema": base64, "properties", "bare"};
// one line of output: {"error": its name or null, "text"}. A producer that is let in sends eight zero bytes. An attempt
// that is bare is made without the client, by its library of commands alone: what it would keep to itself is sent, and
// the first answer is the answer; then there is "version", too. Argument: the service URL.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerAccessMode;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.impl.schema.SchemaInfoImpl;
import org.apache.pulsar.common.api.proto.BaseCommand;
import org.apache.pulsar.common.api.proto.CommandSubscribe;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;

public class Connections {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String NAME = "somebody";
    private static final int AT_ONCE = 8;
    private static final int PATIENCE = 30_000;
    private static final int IMPATIENCE = 3000;

    public static void main(String[] arguments) throws Exception {
        try (PulsarClient client = PulsarClient.builder().serviceUrl(arguments[0]).build();
                BufferedReader attempts = new BufferedReader(new InputStreamReader(System.in))) {
            ExecutorService pool = Executors.newFixedThreadPool(AT_ONCE);
            List<Future<Map<String, Object>>> told = new ArrayList<>();
            for (String line = attempts.readLine(); line != null; line = attempts.readLine()) {
                JsonNode asked = JSON.readTree(line);
                told.add(pool.submit(() -> attempt(client, new URI(arguments[0]), asked)));
            }
            for (Future<Map<String, Object>> answer : told) {
                System.out.println(JSON.writeValueAsString(answer.get()));
            }
            pool.shutdown();
        }
    }

    private static Map<String, Object> attempt(PulsarClient client, URI broker, JsonNode asked) throws Exception {
        Map<String, Object> told = new HashMap<>();
        try {
            if (asked.path("bare").asBoolean()) {
                return Bare.connect(broker, asked, info(asked));
            }
            connect(client, asked.get("topic").asText(), asked.get("client").asText(), schema(asked));
            told.put("error", null);
        } catch (PulsarClientException | SocketTimeoutException error) {
            told.put("error", error.getClass().getSimpleName());
            told.put("text", error.getMessage());
        }
        return told;
    }

    private static void connect(PulsarClient client, String topic, String role, Schema<?> schema) throws Exception {
        switch (role) {
            case "producer" -> send(client, topic, schema);
            case "consumer" -> client.newConsumer(schema).topic(topic).subscriptionName(NAME)
                    .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe().close();
            default -> client.newReader(schema).topic(topic).startMessageId(MessageId.earliest).create().close();
        }
    }

    @SuppressWarnings("unchecked")
    private static void send(PulsarClient client, String topic, Schema<?> schema) throws PulsarClientException {
        try (Producer<?> producer = client.newProducer(schema).topic(topic).create()) {
            ((Producer<byte[]>) producer).send(new byte[8]);
        }
    }

    private static Schema<?> schema(JsonNode asked) throws Exception {
        return switch (asked.path("type").asText("null")) {
            case "null" -> Schema.BYTES;
            case "AUTO_PUBLISH" -> Schema.AUTO_PRODUCE_BYTES();
            case "AUTO_CONSUME" -> Schema.AUTO_CONSUME();
            default -> new Given(info(asked));
        };
    }

    private static SchemaInfo info(JsonNode asked) throws Exception {
        return SchemaInfoImpl.builder()
                .name("given")
                .type(SchemaType.valueOf(asked.get("type").asText()))
                .schema(asked.get("schema").binaryValue())
                .properties(JSON.convertValue(asked.get("properties"), Map.class))
                .build();
    }

    /** Sends the schema that it is given, whatever that is, and takes payloads as they are. */
    private record Given(SchemaInfo info) implements Schema<byte[]> {
        @Override
        public byte[] encode(byte[] payload) {
            return payload;
        }

        @Override
        public SchemaInfo getSchemaInfo() {
            return info;
        }

        @Override
        public Schema<byte[]> clone() {
            return this;
        }
    }

    /** A connection that sends what it is told to. */
    private static final class Bare {
        static Map<String, Object> connect(URI broker, JsonNode asked, SchemaInfo info) throws Exception {
            String topic = asked.get("topic").asText();
            boolean produces = asked.get("client").asText().equals("producer");
            try (Socket socket = new Socket(broker.getHost(), broker.getPort())) {
                socket.setSoTimeout(asked.path("silent").asBoolean() ? IMPATIENCE : PATIENCE);
                answer(socket, Commands.newConnect("", "", "bare"));
                answer(socket, Commands.newLookup(topic, false, 1));
                BaseCommand told = answer(socket, produces ? producer(topic, info) : consumer(topic, info));
                Map<String, Object> answer = new HashMap<>();
                answer.put("error", told.hasError() ? told.getError().getError().name() : null);
                answer.put("text", told.hasError() ? told.getError().getMessage() : null);
                if (told.hasProducerSuccess()) {
                    answer.put("version", new BigInteger(told.getProducerSuccess().getSchemaVersion()).longValue());
                }
                return answer;
            }
        }

        private static ByteBuf producer(String topic, SchemaInfo info) {
            return Commands.newProducer(topic, 1, 2, NAME, false, Map.of(), info, 0, false,
                    ProducerAccessMode.Shared, Optional.empty(), false);
        }

        private static ByteBuf consumer(String topic, SchemaInfo info) {
            return Commands.newSubscribe(topic, NAME, 1, 2, CommandSubscribe.SubType.Exclusive, 0, NAME, true, null,
                    Map.of(), false, false, CommandSubscribe.InitialPosition.Earliest, 0, info, true);
        }

        private static BaseCommand answer(Socket socket, ByteBuf command) throws Exception {
            command.readBytes(socket.getOutputStream(), command.readableBytes());
            DataInputStream input = new DataInputStream(socket.getInputStream());
            input.readInt();
            byte[] bytes = input.readNBytes(input.readInt());
            BaseCommand told = new BaseCommand();
            told.parseFrom(Unpooled.wrappedBuffer(bytes), bytes.length);
            return told;
        }
    }
}
