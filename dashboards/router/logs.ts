import * as units from '@grafana/grafana-foundation-sdk/units';
import * as kit from '../kit/index.ts';
import { selectLines } from '../log-lines.ts';
import { of } from './overview.ts';

const lineOf = selectLines();

export const logs: kit.Section = {
  title: 'Logs of $router',
  panels: [
    kit.trend({
      title: 'Lines by log',
      description: 'Lines read and stored.',
      width: 8,
      unit: units.CountsPerSecond,
      min: 0,
      queries: [
        {
          expr: `sum by (component) (rate(${of('router_log_lines_total')}[$__rate_interval]))`,
          legend: '{{component}}',
        },
      ],
    }),
    kit.table({
      title: 'State of the logs',
      description:
        'Progress of each log. Time to loss: until the router deletes unread lines at the current growth of the log. Click a log for its lines.',
      width: 16,
      height: 8,
      sortBy: 'Not read to its end for',
      columns: [
        { label: 'component', title: 'Log', links: [kit.linkToLogsOf('column')] },
        {
          title: 'Not read to its end for',
          expr: `max by (component) (${of('router_log_lag_seconds')})`,
          unit: units.Seconds,
          decimals: 0,
          limits: kit.DELIVERY_LAG,
        },
        {
          title: 'Newest line',
          expr: `max by (component) (${of('router_log_newest_timestamp_seconds')}) * 1000`,
          unit: units.DateTimeFromNow,
        },
        {
          title: 'Time to loss',
          expr: `min by (component) (${of('router_log_time_to_loss_seconds')})`,
          unit: units.DurationSeconds,
          limits: kit.TIME_LEFT,
        },
        { title: 'Rotated files', expr: `max by (component) (${of('router_log_archives')})`, unit: units.NoUnit },
        {
          title: 'Gaps',
          expr: `sum by (component) (${of('router_log_gaps_total', kit.LOST)})`,
          unit: units.NoUnit,
          limits: kit.NONE_WANTED,
        },
        {
          title: 'Unparsed lines',
          expr: `sum by (component) (${of('router_log_unparsed_lines_total')})`,
          unit: units.NoUnit,
          limits: kit.NONE_WANTED,
        },
      ],
    }),
    kit.trend({
      title: 'Lines in Loki, by severity',
      description:
        'Lines of this router in Loki. Most lines have no severity. Loki lags behind the agent by the lag of its sink.',
      width: 24,
      height: 6,
      unit: units.Short,
      min: 0,
      isStacked: true,
      isLoki: true,
      queries: [{ expr: `sum by (level) (count_over_time(${lineOf()} [$__auto]))`, legend: '{{level}}' }],
    }),
    kit.lines({
      title: 'Lines',
      description:
        'The newest lines of this router and events of the agent (`log.gap`, `log.reset`, …). Open a line for its uid, file and offset.',
      width: 24,
      expr: lineOf(),
    }),
  ],
};
