{{- define "router-exporter.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains .Chart.Name $name) -}}{{- $name = printf "%s-%s" $name .Chart.Name -}}{{- end -}}
{{- /* A pod adds its number, and a StatefulSet a hash: both have to fit into 63 characters. */ -}}
{{- $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}

{{- define "router-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "router-exporter.labels" -}}
{{ include "router-exporter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "router-exporter.image" -}}
{{- $repository := required "image.repository: where the image that you have built and pushed is" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "router-exporter.configMap" -}}
{{- if .Values.existingConfigMap -}}
{{- if or .Values.config .Values.files -}}{{- fail "existingConfigMap excludes config and files" -}}{{- end -}}
{{ .Values.existingConfigMap }}
{{- else -}}
{{- if not .Values.config -}}{{- fail "config: the content of router-exporter.yaml, or existingConfigMap: a ConfigMap with this key" -}}{{- end -}}
{{ include "router-exporter.name" . }}
{{- end -}}
{{- end -}}
