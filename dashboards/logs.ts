import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import * as kit from './kit/index.ts';
import { selectLines } from './log-lines.ts';

const BY_COMPONENT = 'component=~"$component"';
const of = kit.selectBy(kit.BY_JOB, kit.BY_SITE, kit.BY_ROUTER, BY_COMPONENT);
const lineOf = selectLines(BY_COMPONENT);
/** Filters of the search fields at the top. Backticks need no escaping in regular expressions. */
const SEARCHED = 'level=~"$severity" |~ `(?i)$search`';
const SERIOUS = 'level=~"error|critical|alert|emergency"';
const { linkToRouter } = kit;

const rate = (metric: string) => `sum by (component) (rate(${of(metric)}[$__rate_interval]))`;

const reading: kit.Section = {
  title: 'How far the logs are read',
  panels: [
    kit.stat({
      title: 'Lines a second',
      description: 'Lines read and stored, of the selected routers and logs.',
      width: 4,
      unit: units.CountsPerSecond,
      decimals: 1,
      queries: [{ expr: `sum(rate(${of('router_log_lines_total')}[$__rate_interval]))`, legend: 'lines' }],
    }),
    kit.stat({
      title: 'Longest unread',
      description: 'Maximum time since a log was read to its end.',
      width: 4,
      unit: units.Seconds,
      decimals: 0,
      limits: kit.DELIVERY_LAG,
      queries: [{ expr: `max(${of('router_log_lag_seconds')})`, legend: 'lag' }],
    }),
    kit.stat({
      title: 'Next loss in',
      description:
        'Minimum time until a router deletes unread lines, at the current growth of its log. Shorten `logs.interval`, or reduce the lines.',
      width: 4,
      unit: units.DurationSeconds,
      limits: kit.TIME_LEFT,
      queries: [{ expr: `min(${of('router_log_time_to_loss_seconds')})`, legend: 'loss' }],
    }),
    kit.stat({
      title: 'Gaps',
      description: 'Gaps in logs since the agents began to count.',
      width: 4,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_log_gaps_total', kit.LOST)}) or vector(0)`, legend: 'gaps' }],
    }),
    kit.stat({
      title: 'Unparsed',
      description: 'Share of lines without a time in a known format, in the selected time. They are shipped unchanged.',
      width: 4,
      unit: units.PercentUnit,
      decimals: 2,
      limits: kit.SHARE_BAD,
      queries: [
        {
          expr: `sum(${kit.growthShown(of('router_log_unparsed_lines_total'))}) / (sum(${kit.growthShown(of('router_log_lines_total'))}) > 0)`,
          legend: 'unparsed',
        },
      ],
    }),
    kit.stat({
      title: 'Jumps of clocks',
      description:
        'Clock jumps detected in logs since the agents began to count. Times around a jump are uncertain and flagged.',
      width: 4,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_log_clock_jumps_total')}) or vector(0)`, legend: 'jumps' }],
    }),
    kit.trend({
      title: 'Lines by log',
      description: 'A log that becomes silent on all routers at once indicates a problem of reading.',
      width: 12,
      unit: units.CountsPerSecond,
      min: 0,
      isStacked: true,
      queries: [{ expr: rate('router_log_lines_total'), legend: '{{component}}' }],
    }),
    kit.trend({
      title: 'Bytes by log',
      description: 'Log text read, decompressed.',
      width: 12,
      unit: units.BytesPerSecondIEC,
      min: 0,
      isStacked: true,
      queries: [{ expr: rate('router_log_bytes_total'), legend: '{{component}}' }],
    }),
    kit.ranking({
      title: 'Routers with the longest unread logs',
      description: 'Time since a log was last read to its end, the ten longest.',
      width: 8,
      unit: units.Seconds,
      min: 0,
      limits: kit.DELIVERY_LAG,
      links: [linkToRouter('label')],
      queries: [{ expr: `topk(10, max by (job, router) (${of('router_log_lag_seconds')}))`, legend: '{{router}}' }],
    }),
    kit.ranking({
      title: 'Routers that write most',
      description:
        'Bytes of log text in the selected time, the ten largest. A router that logs every request of the agent fills its own log.',
      width: 8,
      unit: units.BytesIEC,
      min: 0,
      links: [linkToRouter('label')],
      queries: [
        {
          expr: `topk(10, sum by (job, router) (${kit.growthShown(of('router_log_bytes_total'))}))`,
          legend: '{{router}}',
        },
      ],
    }),
    kit.trend({
      title: 'Gaps, resets and repeats',
      description:
        'Since the agents began to count. Gaps by certainty; resets: logs whose files were deleted; repeats: repeated lines that routers omitted.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      limits: kit.NONE_WANTED,
      queries: [
        { expr: `sum by (certainty) (${of('router_log_gaps_total', kit.LOST)})`, legend: 'gaps, {{certainty}}' },
        { expr: `sum(${of('router_log_resets_total')})`, legend: 'resets' },
        { expr: `sum(${of('router_log_repeats_total')})`, legend: 'repeats' },
      ],
    }),
    kit.table({
      title: 'Gaps',
      description:
        'Logs with missing lines, at most 100, since the agents began to count. certain: a known file was deleted or damaged. likely: the sequence of files is broken. possible: completeness cannot be proven.',
      width: 24,
      height: 8,
      sortBy: 'Gaps',
      hidden: ['job'],
      columns: [
        { label: 'router', title: 'Router', links: [linkToRouter('column')] },
        { label: 'site', title: 'Site', links: [kit.linkToSite('column')] },
        { label: 'component', title: 'Log' },
        { label: 'certainty', title: 'Certainty' },
        {
          title: 'Gaps',
          expr: `topk(100, max by (job, router, site, component, certainty) (${of('router_log_gaps_total', kit.LOST)}))`,
          unit: units.NoUnit,
        },
        {
          title: 'Bytes, at least',
          expr: `max by (job, router, site, component, certainty) (${of('router_log_gap_bytes_total', kit.LOST)}) and on (job, router, component, certainty) topk(100, max by (job, router, site, component, certainty) (${of('router_log_gaps_total', kit.LOST)}))`,
          unit: units.BytesIEC,
        },
      ],
    }),
  ],
};

const inLoki: kit.Section = {
  title: 'Lines in Loki',
  panels: [
    kit.trend({
      title: 'Lines by severity',
      description: 'Lines in Loki of the selected routers and logs; lines without a severity have an empty level.',
      width: 8,
      unit: units.Short,
      min: 0,
      isStacked: true,
      isLoki: true,
      queries: [{ expr: `sum by (level) (count_over_time(${lineOf()} [$__auto]))`, legend: '{{level}}' }],
    }),
    kit.trend({
      title: 'Errors by log',
      description: 'Lines of severity error and above. An increase on many routers indicates a common change.',
      width: 8,
      unit: units.Short,
      min: 0,
      isLoki: true,
      queries: [
        { expr: `sum by (component) (count_over_time(${lineOf(SERIOUS)} [$__auto]))`, legend: '{{component}}' },
      ],
    }),
    kit.ranking({
      title: 'Routers with the most errors',
      description: 'Lines of severity error and above in the selected time, the ten routers with the most.',
      width: 8,
      unit: units.Short,
      min: 0,
      isLoki: true,
      links: [linkToRouter('label')],
      queries: [
        { expr: `topk(10, sum by (router) (count_over_time(${lineOf(SERIOUS)} [$__range])))`, legend: '{{router}}' },
      ],
    }),
    kit.lines({
      title: 'Events',
      description:
        'Events of the agent: missing lines (`log.gap`, and `log.gap_end` where the log continues), reset logs (`log.reset`), clock jumps (`log.clock_jump`).',
      width: 24,
      height: 8,
      expr: lineOf(
        'event=~"log.gap|log.gap_end|log.reset|log.clock_jump"',
        'line_format "{{.router}} {{.component}} {{.event}}: {{__line__}}"',
      ),
    }),
    kit.lines({
      title: 'Lines',
      description:
        'The newest lines of the selection. Open a line for its uid, file and offset; `flags` lists peculiarities.',
      width: 24,
      height: 18,
      expr: lineOf(SEARCHED, 'line_format "{{.router}} {{.component}} {{__line__}}"'),
    }),
  ],
};

/** Creates the dashboard of log lines and their completeness. */
export function createLogsDashboard(): Dashboard {
  return kit.composeDashboard({
    name: 'logs',
    title: 'Routers / Logs',
    description: 'Lines of the routers, and their completeness.',
    variables: [
      kit.datasourceVariable(),
      kit.lokiVariable(),
      kit.jobVariable(),
      kit.siteVariable(),
      kit.routersVariable(),
      kit.componentVariable(),
      kit.severityVariable(),
      kit.searchVariable(),
    ],
    from: 'now-1h',
    sections: [reading, inLoki],
  });
}
