import { z } from 'zod';
import { LISTEN_PORT_DEFAULT, STORAGE_PATH_DEFAULT } from './defaults.ts';
import { layerSchema, routerSchema } from './router-schema.ts';
import { byteSize, listenAddress, name, section, text } from './schema-values.ts';

const sinkSchema = section('Where log records go.', {
  name: name({ description: 'Unique name of the sink: its label `sink` in metrics, and the key of its position.' }),
  type: z
    .enum(['stdout'], { error: 'the type of a sink, which is "stdout"' })
    .meta({ description: '`stdout` writes one JSON object per line to standard output.' }),
});

const AT_LEAST_ONE_LISTEN = `a list of addresses such as [":9847"]`;
const AT_LEAST_ONE_ROUTER =
  'a list of at least one router, such as "- name: plant-7" with "url: https://192.0.2.10" below';

/** The configuration file: the one source of what is valid, of its description and of its JSON Schema. */
export const configSchema = section('Configuration of router-exporter.', {
  web: section('The server for metrics and the status page.', {
    listen: z
      .array(listenAddress({ description: 'Address to listen on.' }), { error: AT_LEAST_ONE_LISTEN })
      .min(1, { error: AT_LEAST_ONE_LISTEN })
      .superRefine((addresses, context) => {
        for (const [index, { host, port }] of addresses.entries()) {
          const first = addresses.findIndex((other) => other.host === host && other.port === port);
          if (first === index || port === 0) continue;
          context.addIssue({ code: 'custom', path: [index], message: 'an address that is not in the list yet' });
        }
      })
      .meta({
        description: `Addresses to listen on: \`host:port\`, \`:port\` for every address, \`[::1]:port\`. Default: \`[":${LISTEN_PORT_DEFAULT}"]\`.`,
      })
      .optional(),
  }).optional(),
  storage: section('State that survives a restart.', {
    path: text({ description: 'Folder of positions and spool.', default: STORAGE_PATH_DEFAULT }).optional(),
    spool_max: byteSize({
      description: 'Size that records waiting for their sinks may take before reading of logs pauses.',
      default: '1GiB',
    }).optional(),
  }).optional(),
  defaults: layerSchema.optional(),
  routers: z
    .array(routerSchema, { error: AT_LEAST_ONE_ROUTER })
    .min(1, { error: AT_LEAST_ONE_ROUTER })
    .meta({ description: 'The fleet.' }),
  sinks: z
    .array(sinkSchema, { error: 'a list of sinks' })
    .meta({ description: 'Where log records go. Without a sink no log is read.' })
    .optional(),
});

/** The same without what is required: reads the sound rest of a faulty file, so that all its faults are told at once. */
export const incompleteConfigSchema = configSchema
  .extend({ routers: z.array(routerSchema.partial()), sinks: z.array(sinkSchema.partial()).optional() })
  .partial();

/** The checked file before defaults are applied and files are read. */
export type Settings = z.output<typeof incompleteConfigSchema>;
