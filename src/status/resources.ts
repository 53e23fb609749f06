import type { MetricFamily } from '../model/index.ts';
import { decodeEntries, readField, readText } from './decode.ts';

/**
 * What the router says. Errors carry a `code` from a closed list, and `isAnswered` when the router is well and only
 * this one resource failed.
 */
export interface DocumentSource {
  readStatus(resource: string, signal: AbortSignal): Promise<unknown>;
  readProfiles(signal: AbortSignal): Promise<unknown>;
}

/** One resource and the families that its document becomes. */
export interface StatusResource {
  /** Value of the label `resource`. */
  readonly name: string;
  /** Whether the values are identity, which is served for as long as the router is configured. */
  readonly isIdentity: boolean;
  readonly read: (source: DocumentSource, signal: AbortSignal) => Promise<unknown>;
  /** Pure: the same document gives the same families; `undefined` when the document has another shape. */
  readonly toFamilies: (document: unknown) => readonly MetricFamily[] | undefined;
}

const BOARD_LABELS = [
  'board_type',
  'hardware_version',
  'hardware_features',
  'firmware_version',
  'serial_number',
] as const;

const deviceInfo: StatusResource = {
  name: 'device_info',
  isIdentity: true,
  read: (source, signal) => source.readStatus('device_info', signal),
  toFamilies(document) {
    const boards = decodeEntries(document, 'status', 'list');
    if (!boards) return undefined;
    return [
      {
        name: 'router_board_info',
        help: 'A hardware board of the router; slot 1 carries the device serial number and the firmware version.',
        type: 'gauge',
        samples: boards.map((board, index) => ({
          labels: {
            slot: String(index + 1),
            ...Object.fromEntries(BOARD_LABELS.map((label) => [label, readText(board, label)])),
          },
          value: 1,
        })),
      },
    ];
  },
};

const profiles: StatusResource = {
  name: 'profiles',
  isIdentity: false,
  read: (source, signal) => source.readProfiles(signal),
  toFamilies(document) {
    const entries = decodeEntries(document, 'profiles');
    if (!entries) return undefined;
    // A name that comes twice would make a series twice, which breaks a whole scrape.
    const byName = new Map(entries.map((entry) => [readText(entry, 'name'), entry]));
    const toFamily = (name: string, help: string, field: string): MetricFamily => ({
      name,
      help,
      type: 'gauge',
      samples: [...byName].map(([profile, entry]) => ({
        labels: { profile },
        value: readField(entry, field) === true ? 1 : 0,
      })),
    });
    return [
      toFamily('router_profile_modified', 'Whether the profile was changed since it was activated.', 'modified'),
      toFamily('router_profile_last_activated', 'Whether the profile was the last one activated.', 'last_activated'),
    ];
  },
};

/** All resources that are read, in this order. */
export const STATUS_RESOURCES: readonly StatusResource[] = [deviceInfo, profiles];
