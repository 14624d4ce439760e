// The anchor of the edit benchmark: a validating webhook that allows everything.
//
// It does what any webhook must do (TLS, read the body, answer with the request's uid) and nothing else.
package main

import (
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http"
)

type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    *struct {
		UID string `json:"uid"`
	} `json:"request,omitempty"`
	Response *response `json:"response,omitempty"`
}

type response struct {
	UID     string `json:"uid"`
	Allowed bool   `json:"allowed"`
}

func allow(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var incoming review
	if err := json.Unmarshal(body, &incoming); err != nil || incoming.Request == nil {
		http.Error(w, "no AdmissionReview", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer := review{incoming.APIVersion, incoming.Kind, nil, &response{incoming.Request.UID, true}}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		log.Print(err)
	}
}

func main() {
	address := flag.String("address", "127.0.0.1:0", "where to listen")
	cert := flag.String("cert", "", "serving certificate, PEM")
	key := flag.String("key", "", "its key, PEM")
	flag.Parse()
	http.HandleFunc("/review", allow)
	http.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	log.Fatal(http.ListenAndServeTLS(*address, *cert, *key, nil))
}
