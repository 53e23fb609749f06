import type { OutgoingRecord } from '../outgoing-record.ts';

/** Version of the Elastic Common Schema. */
const ECS_VERSION = '8.17.0';

/** A record as a document of the Elastic Common Schema, on one line. */
export function renderEcs(record: OutgoingRecord): string {
  const { fields } = record;
  const { labels = {}, flags = [], details, original } = fields;
  return JSON.stringify({
    // Data streams require it.
    '@timestamp': fields.timestamp ?? fields.observed_timestamp,
    ecs: { version: ECS_VERSION },
    message: fields.message,
    log: {
      level: fields.severity,
      logger: fields.tag,
      file: { path: fields.file },
      offset: fields.offset,
    },
    event: {
      id: fields.uid,
      kind: 'event',
      dataset: `router.${fields.component}`,
      action: fields.event,
      created: fields.observed_timestamp,
    },
    host: { name: fields.router },
    observer: { name: fields.router, type: 'router' },
    agent: { type: 'router-exporter' },
    ...(flags.length > 0 && { tags: flags }),
    ...(Object.keys(labels).length > 0 && { labels }),
    router: { component: fields.component, original_base64: original, details },
  });
}
