import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import * as kit from './kit/index.ts';
import { selectLines } from './log-lines.ts';

const BY_COMPONENT = 'component=~"$component"';
const of = kit.selectBy(kit.BY_JOB, kit.BY_SITE, kit.BY_ROUTER, BY_COMPONENT);
const lineOf = selectLines(BY_COMPONENT);
/** What the reader searches for, on top. Backticks take regular expressions as they are. */
const SEARCHED = 'level=~"$severity" |~ `(?i)$search`';
const SERIOUS = 'level=~"error|critical|alert|emergency"';
const { linkToRouter } = kit;

const rate = (metric: string) => `sum by (component) (rate(${of(metric)}[$__rate_interval]))`;

const reading: kit.Section = {
  title: 'How far the logs are read',
  panels: [
    kit.stat({
      title: 'Lines a second',
      description: 'Lines that are read and made durable, of the routers and logs that are picked.',
      width: 4,
      unit: units.CountsPerSecond,
      decimals: 1,
      queries: [{ expr: `sum(rate(${of('router_log_lines_total')}[$__rate_interval]))`, legend: 'lines' }],
    }),
    kit.stat({
      title: 'Longest unread',
      description: 'The longest time for which a log was not read to its end.',
      width: 4,
      unit: units.Seconds,
      decimals: 0,
      limits: kit.DELIVERY_LAG,
      queries: [{ expr: `max(${of('router_log_lag_seconds')})`, legend: 'lag' }],
    }),
    kit.stat({
      title: 'Next loss in',
      description:
        'The shortest time until a router deletes what is unread, at the rate at which its log grows. A shorter `logs.interval` helps, or fewer lines.',
      width: 4,
      unit: units.DurationSeconds,
      limits: kit.TIME_LEFT,
      queries: [{ expr: `min(${of('router_log_time_to_loss_seconds')})`, legend: 'loss' }],
    }),
    kit.stat({
      title: 'Gaps',
      description: 'Places where lines are missing, since the agents began to count.',
      width: 4,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_log_gaps_total')}) or vector(0)`, legend: 'gaps' }],
    }),
    kit.stat({
      title: 'Unparsed',
      description:
        'Share of lines without a time in a form that is known, in the time that is shown. They are shipped as they are.',
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
        'Jumps of the clocks of routers that their logs have shown, since the agents began to count. Times of lines around a jump are uncertain, and flagged.',
      width: 4,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_log_clock_jumps_total')}) or vector(0)`, legend: 'jumps' }],
    }),
    kit.trend({
      title: 'Lines by log',
      description: 'A log that falls silent on all routers at once is a fault of reading, not of routers.',
      width: 12,
      unit: units.CountsPerSecond,
      min: 0,
      isStacked: true,
      queries: [{ expr: rate('router_log_lines_total'), legend: '{{component}}' }],
    }),
    kit.trend({
      title: 'Bytes by log',
      description: 'Log text that was read, decompressed.',
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
        'Bytes of log text in the time that is shown, the ten that write most. A router that logs every request of the agent fills its own log.',
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
        'Since the agents began to count. Gaps by how sure they are; resets: logs that began anew because their files were deleted; repeats: equal lines that routers left out.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      limits: kit.NONE_WANTED,
      queries: [
        { expr: `sum by (certainty) (${of('router_log_gaps_total')})`, legend: 'gaps, {{certainty}}' },
        { expr: `sum(${of('router_log_resets_total')})`, legend: 'resets' },
        { expr: `sum(${of('router_log_repeats_total')})`, legend: 'repeats' },
      ],
    }),
    kit.table({
      title: 'Gaps',
      description:
        'Where lines are missing, at most 100 logs, since the agents began to count. certain: a file that was known is gone or damaged. likely: the chain of files is broken. possible: it cannot be proven whole.',
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
          expr: `topk(100, max by (job, router, site, component, certainty) (${of('router_log_gaps_total')}))`,
          unit: units.NoUnit,
        },
        {
          title: 'Bytes, at least',
          expr: `max by (job, router, site, component, certainty) (${of('router_log_gap_bytes_total')}) and on (job, router, component, certainty) topk(100, max by (job, router, site, component, certainty) (${of('router_log_gaps_total')}))`,
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
      description:
        'What Loki has of the routers and logs that are picked; of lines without a severity the level is empty.',
      width: 8,
      unit: units.Short,
      min: 0,
      isStacked: true,
      isLoki: true,
      queries: [{ expr: `sum by (level) (count_over_time(${lineOf()} [$__auto]))`, legend: '{{level}}' }],
    }),
    kit.trend({
      title: 'Errors by log',
      description:
        'Lines of severity error and above. A rise on one log of many routers points at a change, on one router at that router.',
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
      description: 'Lines of severity error and above in the time that is shown, the ten routers that have most.',
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
        'What the agent itself says about the logs: missing lines (`log.gap`, and `log.gap_end` where the log continues), logs that began anew (`log.reset`), jumps of clocks (`log.clock_jump`).',
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
        'The newest lines of what is picked and searched for. Open a line for its uid, file and offset; `flags` says what is unusual about it.',
      width: 24,
      height: 18,
      expr: lineOf(SEARCHED, 'line_format "{{.router}} {{.component}} {{__line__}}"'),
    }),
  ],
};

/** What routers write, and whether all of it arrives. */
export function createLogsDashboard(): Dashboard {
  return kit.composeDashboard({
    name: 'logs',
    title: 'Routers / Logs',
    description: 'What routers write, and whether all of it arrives.',
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
