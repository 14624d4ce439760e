// The schemas of Pulsar's Go client: one line of input per request, in JSON. The response to {"own": the name of a schema}
// is {"schema": base64} with what it sends. With a "topic", too, a producer sends a value there that a consumer then has
// to receive, both with that schema; the response is {"error": text or null, "same": true if the payloads are equal}.
// Argument: the service URL.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type own struct {
	schema pulsar.Schema
	value  any
}

type order struct {
	ID string `avro:"id" json:"id"`
}

const text = `{"type": "record", "name": "Order", "fields": [{"name": "id", "type": {"type": "string"}}]}`

var schemas = map[string]own{
	"AVRO":            {pulsar.NewAvroSchema(text, nil), order{"a"}},
	"JSON":            {pulsar.NewJSONSchema(text, nil), order{"b"}},
	"STRING":          {pulsar.NewStringSchema(nil), "héllo"},
	"INT8":            {pulsar.NewInt8Schema(nil), int8(-1)},
	"INT16":           {pulsar.NewInt16Schema(nil), int16(-2)},
	"INT32":           {pulsar.NewInt32Schema(nil), int32(-3)},
	"INT64":           {pulsar.NewInt64Schema(nil), int64(-4)},
	"FLOAT":           {pulsar.NewFloatSchema(nil), float32(0.5)},
	"DOUBLE":          {pulsar.NewDoubleSchema(nil), 0.25},
	"PROTOBUF_NATIVE": {pulsar.NewProtoNativeSchemaWithMessage(&timestamppb.Timestamp{}, nil), &timestamppb.Timestamp{Seconds: 7}},
}

func main() {
	quiet := logrus.New()
	quiet.SetLevel(logrus.PanicLevel)
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: os.Args[1], Logger: log.NewLoggerWithLogrus(quiet)})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	lines, output := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		request := map[string]string{}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			panic(err)
		}
		own := schemas[request["own"]]
		if request["topic"] == "" {
			_ = output.Encode(map[string]any{"schema": []byte(own.schema.GetSchemaInfo().Schema)})
			continue
		}
		same, err := own.exchange(client, request["topic"])
		response := map[string]any{"error": nil, "same": same}
		if err != nil {
			response["error"] = err.Error()
		}
		_ = output.Encode(response)
	}
}

func (own own) exchange(client pulsar.Client, topic string) (bool, error) {
	consumer, err := client.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "go", Schema: own.schema})
	if err != nil {
		return false, err
	}
	defer consumer.Close()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: topic, Schema: own.schema})
	if err != nil {
		return false, err
	}
	defer producer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Value: own.value}); err != nil {
		return false, err
	}
	message, err := consumer.Receive(ctx)
	if err != nil {
		return false, err
	}
	sent, err := own.schema.Encode(own.value)
	return err == nil && bytes.Equal(sent, message.Payload()), err
}
