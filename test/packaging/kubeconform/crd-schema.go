// Turns a CustomResourceDefinition into the JSON Schema of its first version, in which unknown keys are errors.
package main

import (
	"encoding/json"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

// Closes every object that lists its keys.
func closeObjects(node any) {
	switch value := node.(type) {
	case map[string]any:
		if _, lists := value["properties"].(map[string]any); lists && value["additionalProperties"] == nil {
			value["additionalProperties"] = false
		}
		for _, child := range value {
			closeObjects(child)
		}
	case []any:
		for _, child := range value {
			closeObjects(child)
		}
	}
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		panic(err)
	}
	schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	closeObjects(schema)
	// Any object has this one, and the definition leaves its keys to Kubernetes.
	schema["properties"].(map[string]any)["metadata"] = map[string]any{"type": "object"}
	if err := json.NewEncoder(os.Stdout).Encode(schema); err != nil {
		panic(err)
	}
}
