// Nothing of it is built: its example/prometheus-operator-crd has the definitions of ServiceMonitor and PrometheusRule.
module dns-syncd.test/env/monitoring

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
