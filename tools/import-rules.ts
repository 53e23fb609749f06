/**
 * The import rule of src/, as data: a room may import rooms on lower storeys, through their doors, and nothing else.
 * `npm run import-rules` writes it into .oxlintrc.json, where the linter and editors find it.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/** Storeys from the ground up. Rooms of one storey are strangers to each other. */
export const STOREYS: readonly (readonly string[])[] = [
  ['base', 'bzip2'],
  ['model', 'settings'],
  ['net'],
  ['router', 'schedule', 'status', 'exposition', 'logs', 'store', 'delivery', 'web', 'backup', 'simulator'],
  ['config'],
  ['agent'],
  ['cli'],
];
export const ROOMS = STOREYS.flat();

/** Rooms that `room` may import. */
export function roomsBelow(room: string): readonly string[] {
  return STOREYS.slice(
    0,
    STOREYS.findIndex((storey) => storey.includes(room)),
  ).flat();
}

const CONFIG = new URL('../.oxlintrc.json', import.meta.url);

/** The linter's configuration with the rule of every room in its `overrides`. */
export function renderLintConfig(): string {
  const config: unknown = JSON.parse(readFileSync(CONFIG, 'utf8'));
  const overrides = [...ROOMS.map(createOverride), LIBRARY_OVERRIDE];
  return `${JSON.stringify({ ...Object(config), overrides }, null, 2)}\n`;
}

/** The entry of the library stands above the rooms and re-exports what their doors offer. */
const LIBRARY_OVERRIDE = {
  files: ['src/index.ts'],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            regex: '^\\./([^/]+/([^/]+/|[^i]|i[^n]|in[^d])|main\\.ts$)',
            message: 'The library imports rooms through their doors and nothing else.',
          },
        ],
      },
    ],
  },
};

function createOverride(room: string) {
  const below = roomsBelow(room);
  const others = ROOMS.filter((other) => other !== room && !below.includes(other));
  const allowed = below.length > 0 ? `only ${below.join(', ')}` : 'no other room';
  const patterns = [
    {
      regex: `^(\\.\\./)+(${others.join('|')})/`,
      message: `The room ${room} may import ${allowed}. Declare here the small interface that is needed; src/agent hands over the room that satisfies it.`,
    },
    {
      // "Anything but index.ts", without the look-ahead that the linter's regular expressions do not have.
      regex: `^(\\.\\./)+(${below.join('|')})/([^/]+/|[^i]|i[^n]|in[^d])`,
      message: 'Import another room through its door, index.ts. What is needed and not there belongs into the door.',
    },
    {
      regex: '^(\\.\\./)+(main|index)\\.ts$',
      message: 'Nothing imports main.ts and src/index.ts: they are the ways in from outside.',
    },
  ];
  return {
    files: [`src/${room}/**/*.ts`],
    rules: { 'no-restricted-imports': ['error', { patterns: patterns.filter(({ regex }) => !regex.includes('()')) }] },
  };
}

if (import.meta.main) writeFileSync(CONFIG, renderLintConfig());
