// The responses of a broker to Pulsar's Java client that connects: one line of input per attempt, in JSON: {"topic",
// "client": producer | consumer | reader, "type": a SchemaType, absent for none, "schema": base64, "properties", "bare"};
// one line of output: {"error": its name or null, "text"}. A producer that connects sends eight zero bytes. A bare
// attempt is made without the client, by its library of commands alone: it sends even what the client would refuse to
// send, and reads one response; then there is "version", too. Argument: the service URL.

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
    private static final String NAME = "client";
    private static final int AT_ONCE = 8;
    private static final int TIMEOUT = 30_000;
    private static final int SHORT_TIMEOUT = 3000;

    public static void main(String[] arguments) throws Exception {
        try (PulsarClient client = PulsarClient.builder().serviceUrl(arguments[0]).build();
                BufferedReader attempts = new BufferedReader(new InputStreamReader(System.in))) {
            ExecutorService pool = Executors.newFixedThreadPool(AT_ONCE);
            List<Future<Map<String, Object>>> results = new ArrayList<>();
            for (String line = attempts.readLine(); line != null; line = attempts.readLine()) {
                JsonNode attempt = JSON.readTree(line);
                results.add(pool.submit(() -> attempt(client, new URI(arguments[0]), attempt)));
            }
            for (Future<Map<String, Object>> result : results) {
                System.out.println(JSON.writeValueAsString(result.get()));
            }
            pool.shutdown();
        }
    }

    private static Map<String, Object> attempt(PulsarClient client, URI broker, JsonNode attempt) throws Exception {
        Map<String, Object> outcome = new HashMap<>();
        try {
            if (attempt.path("bare").asBoolean()) {
                return Bare.connect(broker, attempt, info(attempt));
            }
            connect(client, attempt.get("topic").asText(), attempt.get("client").asText(), schema(attempt));
            outcome.put("error", null);
        } catch (PulsarClientException | SocketTimeoutException error) {
            outcome.put("error", error.getClass().getSimpleName());
            outcome.put("text", error.getMessage());
        }
        return outcome;
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

    private static Schema<?> schema(JsonNode attempt) throws Exception {
        return switch (attempt.path("type").asText("null")) {
            case "null" -> Schema.BYTES;
            case "AUTO_PUBLISH" -> Schema.AUTO_PRODUCE_BYTES();
            case "AUTO_CONSUME" -> Schema.AUTO_CONSUME();
            default -> new Verbatim(info(attempt));
        };
    }

    private static SchemaInfo info(JsonNode attempt) throws Exception {
        return SchemaInfoImpl.builder()
                .name("verbatim")
                .type(SchemaType.valueOf(attempt.get("type").asText()))
                .schema(attempt.get("schema").binaryValue())
                .properties(JSON.convertValue(attempt.get("properties"), Map.class))
                .build();
    }

    /** Sends its schema unchecked, and takes payloads as they are. */
    private record Verbatim(SchemaInfo info) implements Schema<byte[]> {
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

    /** A connection that sends the attempt's commands. */
    private static final class Bare {
        static Map<String, Object> connect(URI broker, JsonNode attempt, SchemaInfo info) throws Exception {
            String topic = attempt.get("topic").asText();
            boolean produces = attempt.get("client").asText().equals("producer");
            try (Socket socket = new Socket(broker.getHost(), broker.getPort())) {
                socket.setSoTimeout(attempt.path("silent").asBoolean() ? SHORT_TIMEOUT : TIMEOUT);
                answer(socket, Commands.newConnect("", "", "bare"));
                answer(socket, Commands.newLookup(topic, false, 1));
                BaseCommand response = answer(socket, produces ? producer(topic, info) : consumer(topic, info));
                Map<String, Object> answer = new HashMap<>();
                answer.put("error", response.hasError() ? response.getError().getError().name() : null);
                answer.put("text", response.hasError() ? response.getError().getMessage() : null);
                if (response.hasProducerSuccess()) {
                    answer.put("version", new BigInteger(response.getProducerSuccess().getSchemaVersion()).longValue());
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
            BaseCommand response = new BaseCommand();
            response.parseFrom(Unpooled.wrappedBuffer(bytes), bytes.length);
            return response;
        }
    }
}
