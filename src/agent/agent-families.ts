import { BACKUP_FAMILIES } from '../backup/index.ts';
import { SERIES_DROPPED } from '../exposition/index.ts';
import { CONFIG_CHANGES, CONFIG_ENTRIES } from '../status/index.ts';
import { type AgentFamily, FLEET_FAMILIES } from './fleet-families.ts';

/** Every family about routers that no module makes: modules may have none of these names. */
export const AGENT_FAMILIES: readonly AgentFamily[] = [
  ...Object.values(FLEET_FAMILIES),
  { ...SERIES_DROPPED, labels: [] },
  ...BACKUP_FAMILIES.map((family) => ({ ...family, labels: ['profile'] })),
  ...[CONFIG_ENTRIES, CONFIG_CHANGES].map((family) => ({ ...family, labels: ['section', 'resource'] })),
];
