// Reads texts, one in base64 a line, and writes what sigs.k8s.io/yaml reads from each: as kubectl does, and strictly.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"

	"sigs.k8s.io/yaml"
)

type answer struct {
	JSON   json.RawMessage `json:"json"`
	Error  string          `json:"error"`
	Strict string          `json:"strict"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	answers := json.NewEncoder(os.Stdout)
	answers.SetEscapeHTML(false)
	for lines.Scan() {
		text, err := base64.StdEncoding.DecodeString(lines.Text())
		if err != nil {
			panic(err)
		}
		var given answer
		if given.JSON, err = yaml.YAMLToJSON(text); err != nil {
			given.JSON, given.Error = nil, err.Error()
		}
		if _, err = yaml.YAMLToJSONStrict(text); err != nil {
			given.Strict = err.Error()
		}
		if err = answers.Encode(given); err != nil {
			panic(err)
		}
	}
}
