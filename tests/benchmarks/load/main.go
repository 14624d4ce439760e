// A load of HTTP requests that costs the machine little, so that the server is measured.
//
// Standard input: one request per line, {"stream": 0, "method": "PATCH", "path": "/...", "type": "...", "body": "...", "expect": 200}.
// Requests of one stream go one after the other, streams at the same time. Standard output: one JSON object with the number of
// requests, the wall time, the latencies' p50 and p99 in milliseconds, and how many answers had another status than expected.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
	"time"
)

type request struct {
	Stream int    `json:"stream"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Type   string `json:"type"`
	Body   string `json:"body"`
	Expect int    `json:"expect"`
}

type report struct {
	Requests   int     `json:"requests"`
	Seconds    float64 `json:"seconds"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	Unexpected int     `json:"unexpected"`
	FirstText  string  `json:"first_unexpected,omitempty"`
}

type outcome struct {
	took       time.Duration
	unexpected string
}

func read(from io.Reader) (map[int][]request, int) {
	streams, count := map[int][]request{}, 0
	lines := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			var one request
			if bad := json.Unmarshal(line, &one); bad != nil {
				log.Fatal(bad)
			}
			streams[one.Stream] = append(streams[one.Stream], one)
			count++
		}
		if err == io.EOF {
			return streams, count
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

func send(client *http.Client, server, token string, one request) outcome {
	outgoing, err := http.NewRequest(one.Method, server+one.Path, strings.NewReader(one.Body))
	if err != nil {
		return outcome{0, err.Error()}
	}
	outgoing.Header.Set("Content-Type", one.Type)
	outgoing.Header.Set("Accept", "application/json")
	if token != "" {
		outgoing.Header.Set("Authorization", "Bearer "+token)
	}
	start := time.Now()
	answer, err := client.Do(outgoing)
	if err != nil {
		return outcome{time.Since(start), err.Error()}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	took := time.Since(start)
	if err != nil || answer.StatusCode != one.Expect {
		return outcome{took, fmt.Sprintf("%d %.300s %v", answer.StatusCode, text, err)}
	}
	return outcome{took, ""}
}

func client(ca, cert, key string, connections int, http2 bool) *http.Client {
	pem, err := os.ReadFile(ca)
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	settings := &tls.Config{RootCAs: roots}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			log.Fatal(err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{
		TLSClientConfig: settings, MaxIdleConnsPerHost: connections, ForceAttemptHTTP2: http2,
	}}
}

func main() {
	server := flag.String("server", "", "https://host:port")
	ca := flag.String("ca", "", "certificate authority, PEM")
	cert := flag.String("cert", "", "client certificate, PEM")
	key := flag.String("key", "", "its key, PEM")
	token := flag.String("token", "", "bearer token")
	http2 := flag.Bool("http2", false, "speak HTTP/2, as kubectl does")
	flag.Parse()

	streams, count := read(os.Stdin)
	speaker := client(*ca, *cert, *key, len(streams), *http2)
	results := make(chan outcome, count)
	var all sync.WaitGroup
	start := time.Now()
	for _, stream := range streams {
		all.Add(1)
		go func() {
			defer all.Done()
			for _, one := range stream {
				results <- send(speaker, *server, *token, one)
			}
		}()
	}
	all.Wait()
	summarise(results, count, time.Since(start))
}

func summarise(results chan outcome, count int, wall time.Duration) {
	close(results)
	summary := report{Requests: count, Seconds: wall.Seconds()}
	var times []float64
	for one := range results {
		times = append(times, float64(one.took.Microseconds())/1000)
		if one.unexpected != "" {
			summary.Unexpected++
			if summary.FirstText == "" {
				summary.FirstText = one.unexpected
			}
		}
	}
	if len(times) > 0 {
		sort.Float64s(times)
		summary.P50, summary.P99 = times[len(times)/2], times[len(times)*99/100]
	}
	if err := json.NewEncoder(os.Stdout).Encode(summary); err != nil {
		log.Fatal(err)
	}
}
