// The alerts, recording rules and dashboards as a monitoring mixin (https://monitoring.mixins.dev). With the defaults of `_config`,
// they are those of deploy/prometheus and dashboards/json.
local shipped = import 'rules.json';

{
  _config+:: {
    // Matchers for every series of agents and routers, such as 'job="routers"'. Empty: none.
    selector: '',
    thresholds: shipped.thresholds,
    // Address of a copy of this repository, which `runbook_url` begins with. Empty: paths in the repository.
    runbookUrl: '',
    // Address of Grafana, for `dashboard_url` of the alerts. Empty: no such annotation.
    dashboardUrl: '',
  },

  local config = $._config,
  local values = config.thresholds {
    onlySelector: if config.selector == '' then '' else '{%s}' % config.selector,
    andSelector: if config.selector == '' then '' else ', %s' % config.selector,
  },
  local dashboards = {
    'router-exporter-links': 'cellular',
    'router-exporter-logs': 'logs',
    'router-exporter-agent': 'agent',
  },
  local within(address, path) = if address == '' then path else std.rstripChars(address, '/') + '/' + path,

  prometheusAlerts+:: {
    groups+: [
      group {
        rules: [
          rule {
            expr: rule.expr % values,
            annotations+: {
              description: rule.annotations.description % values,
              runbook_url: within(config.runbookUrl, rule.annotations.runbook_url),
              [if config.dashboardUrl != '' then 'dashboard_url']:
                within(config.dashboardUrl, 'd/router-exporter-' + std.get(dashboards, group.name, 'fleet')),
            },
          }
          for rule in group.rules
        ],
      }
      for group in shipped.alerts
    ],
  },

  prometheusRules+:: {
    groups+: [
      group { rules: [rule { expr: rule.expr % values } for rule in group.rules] }
      for group in shipped.rules
    ],
  },

  grafanaDashboards+:: {
    'router-exporter-agent.json': import '../../dashboards/json/agent.json',
    'router-exporter-cellular.json': import '../../dashboards/json/cellular.json',
    'router-exporter-fleet.json': import '../../dashboards/json/fleet.json',
    'router-exporter-logs.json': import '../../dashboards/json/logs.json',
    'router-exporter-router.json': import '../../dashboards/json/router.json',
  },
}
