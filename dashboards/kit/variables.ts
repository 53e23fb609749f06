import {
  CustomVariableBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  TextBoxVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { BY_JOB, BY_SITE, PROMETHEUS } from './queries.ts';

export type Variable =
  | CustomVariableBuilder
  | DatasourceVariableBuilder
  | QueryVariableBuilder
  | TextBoxVariableBuilder;

const ALL = { text: ['All'], value: ['$__all'] };

function createLabelVariable(name: string, label: string, description: string, of: string): QueryVariableBuilder {
  return (
    new QueryVariableBuilder(name)
      .label(label)
      .description(description)
      .datasource(PROMETHEUS)
      .query(`label_values(${of}, ${name})`)
      .refresh(VariableRefresh.OnTimeRangeChanged)
      // oxlint-disable-next-line unicorn/no-array-sort -- an order for Grafana, and no array.
      .sort(VariableSort.NaturalAsc)
  );
}

/** Allows the selection of several values or all. */
function severalOf(variable: QueryVariableBuilder): QueryVariableBuilder {
  return variable.multi(true).includeAll(true).current(ALL);
}

/** Like {@link severalOf}, with a pattern for all values instead of a list: it stays short for thousands of routers and also matches series without the label. */
function severalOfMany(variable: QueryVariableBuilder): QueryVariableBuilder {
  return severalOf(variable).allValue('.*');
}

export const datasourceVariable = (): Variable =>
  new DatasourceVariableBuilder('datasource')
    .label('Metrics')
    .description('The Prometheus that scrapes the agents.')
    .type('prometheus');

export const lokiVariable = (): Variable =>
  new DatasourceVariableBuilder('loki')
    .label('Logs')
    .description('The Loki that a sink of type loki delivers to.')
    .type('loki');

/**
 * Jobs of the agents' own series and of those about routers, which may differ. "All" is the list of these jobs, because
 * other programs on the same Prometheus also have the families of processes and scrapes.
 */
export const jobVariable = (): Variable =>
  severalOf(
    createLabelVariable(
      'job',
      'Job',
      'Jobs of Prometheus: those that scrape routers, and those that scrape agents.',
      '{__name__=~"router_up|router_exporter_build_info"}',
    ),
  );

export const siteVariable = (): Variable =>
  severalOfMany(
    createLabelVariable(
      'site',
      'Site',
      'The label `site` of routers, where the configuration gives one.',
      `router_up{${BY_JOB}}`,
    ),
  );

export const instanceVariable = (): Variable =>
  severalOf(
    createLabelVariable(
      'instance',
      'Agent',
      'One process of the agent: a shard.',
      `router_exporter_build_info{${BY_JOB}}`,
    ),
  );

const createRouterVariable = () =>
  createLabelVariable(
    'router',
    'Router',
    'Name of the router in the configuration.',
    `router_up{${BY_JOB}, ${BY_SITE}}`,
  );

export const oneRouterVariable = (): Variable => createRouterVariable().multi(false).includeAll(false);
export const routersVariable = (): Variable => severalOfMany(createRouterVariable());

export const operatorVariable = (): Variable =>
  severalOfMany(
    createLabelVariable(
      'provider_name',
      'Operator',
      'The network that the modem is registered with.',
      `router_modem_info{${BY_JOB}, ${BY_SITE}}`,
    ),
  );

export const technologyVariable = (): Variable =>
  severalOfMany(
    createLabelVariable(
      'access_technology',
      'Technology',
      'How the modem reaches its network.',
      `router_modem_access_technology{${BY_JOB}, ${BY_SITE}}`,
    ),
  );

export const componentVariable = (): Variable =>
  severalOfMany(
    createLabelVariable(
      'component',
      'Log',
      'The log of the router: a folder of its log files.',
      `router_log_lines_total{${BY_JOB}, ${BY_SITE}}`,
    ),
  );

/** Selects lines of at least this severity; lines without a severity are shown only with "all". */
export const severityVariable = (): Variable =>
  new CustomVariableBuilder('severity')
    .label('Severity')
    .description('Lines that carry at least this severity; most lines of routers carry none and stand under all.')
    .values('all : .*, warning : warning|error|critical|alert|emergency, error : error|critical|alert|emergency')
    .current({ text: 'all', value: '.*' });

export const searchVariable = (): Variable =>
  new TextBoxVariableBuilder('search')
    .label('Search')
    .description('Text in the line, as a regular expression; upper and lower case are the same.')
    .defaultValue('');
