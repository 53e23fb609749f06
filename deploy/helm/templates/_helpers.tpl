{{- define "router-exporter.name" -}}
{{- $name := .Release.Name -}}
{{- $suffix := default .Chart.Name .Values.nameOverride -}}
{{- if not (contains $suffix $name) -}}{{- $name = printf "%s-%s" $name $suffix -}}{{- end -}}
{{- $name = default $name .Values.fullnameOverride -}}
{{- /* A pod adds its number, and a StatefulSet a hash: both have to fit into 63 characters. */ -}}
{{- $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}

{{- define "router-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
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

{{- define "router-exporter.headless" -}}
{{ include "router-exporter.name" . }}-headless
{{- end -}}

{{- /* Host name of a pod, whose own name is added in front. */ -}}
{{- define "router-exporter.domain" -}}
{{ include "router-exporter.headless" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "router-exporter.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (ternary (include "router-exporter.name" .) "default" .Values.serviceAccount.create) }}
{{- end -}}

{{- /* Not empty if the pods are replicas of a cluster. */ -}}
{{- define "router-exporter.cluster" -}}
{{- if or .Values.cluster.enabled (.Values.config).cluster -}}true{{- end -}}
{{- end -}}

{{- /* The configuration, with the addresses by which the pods reach each other, where values name none. */ -}}
{{- define "router-exporter.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $web := .Values.config.web | default dict -}}
{{- if $web.route_prefix -}}{{- fail "config.web.route_prefix: use web.routePrefix, which probes and monitors follow" -}}{{- end -}}
{{- $path := printf "%s:%v%s" (include "router-exporter.domain" .) .Values.web.port .Values.web.routePrefix -}}
{{- if include "router-exporter.cluster" . -}}
  {{- $url := printf "%s://${HOSTNAME}.%s" (lower .Values.web.scheme) $path -}}
  {{- $config = merge $config (dict "cluster" (dict "nats" (dict "advertise" $url))) -}}
{{- else if and (gt (int .Values.shards) 1) (eq .Values.web.scheme "HTTP") (not (or $web.peers $web.config_file $web.access)) -}}
  {{- $peers := list -}}
  {{- range until (int .Values.shards) -}}
    {{- $peers = append $peers (printf "http://%s-%d.%s" (include "router-exporter.name" $) . $path) -}}
  {{- end -}}
  {{- $config = merge $config (dict "web" (dict "peers" $peers)) -}}
{{- end -}}
{{ toYaml $config }}
{{- end -}}

{{- /* How the Prometheus Operator scrapes a pod; argument: the values of the monitor, and the whole. */ -}}
{{- define "router-exporter.endpoint" -}}
{{- $monitor := index . 0 -}}
{{- with index . 1 -}}
{{- /* A pod that is not ready has metrics, too. */ -}}
{{- $endpoint := dict "port" "http" "path" (printf "%s/metrics" .Values.web.routePrefix) "scheme" (lower .Values.web.scheme) "interval" $monitor.interval "scrapeTimeout" $monitor.scrapeTimeout "filterRunning" true -}}
{{ toYaml (merge (deepCopy ($monitor.endpoint | default dict)) $endpoint) }}
{{- end }}
{{- end -}}

{{- define "router-exporter.mounts" -}}
- { name: config, mountPath: /etc/router-exporter, readOnly: true }
- { name: state, mountPath: /var/lib/router-exporter }
- { name: tmp, mountPath: /tmp }
{{- if .Values.existingSecret }}
- { name: secrets, mountPath: /run/secrets/router-exporter, readOnly: true }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
