/**
 * The import rule of src/ as data: a module (a folder of src/) imports modules of lower layers only, through their entry
 * points, and so do the folders of some modules. `npm run import-rules` writes it into .oxlintrc.json for the linter and editors.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/** Layers from the bottom up. Modules of one layer do not import each other. */
export const LAYERS: readonly (readonly string[])[] = [
  ['base'],
  ['model', 'settings'],
  ['net'],
  [
    'client',
    'schedule',
    'status',
    'exposition',
    'logs',
    'cluster',
    'store',
    'sinks',
    'web',
    'backup',
    'inventory',
    'simulator',
  ],
  ['config'],
  ['agent'],
  ['cli'],
];
export const MODULES = LAYERS.flat();

/** Layers of the folders within a module, from the bottom up. Folders of one layer do not import each other. */
const FOLDER_LAYERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  logs: [['time', 'rules'], ['listing'], ['position'], ['step', 'records'], ['reading'], ['archive'], ['follow']],
};

/** Returns the modules that `module` may import. */
export function modulesBelow(module: string): readonly string[] {
  return namesBelow(LAYERS, module);
}

function namesBelow(layers: readonly (readonly string[])[], name: string): readonly string[] {
  return layers
    .slice(
      0,
      layers.findIndex((layer) => layer.includes(name)),
    )
    .flat();
}

const CONFIG = new URL('../.oxlintrc.json', import.meta.url);

/** Renders the linter's configuration with the rule of every module in `overrides`. */
export function renderLintConfig(): string {
  const config: unknown = JSON.parse(readFileSync(CONFIG, 'utf8'));
  const overrides = [
    ...MODULES.map((module) => createOverride(`src/${module}/**/*.ts`, patternsOf(module))),
    ...Object.entries(FOLDER_LAYERS).flatMap(([module, layers]) => createFolderOverrides(module, layers)),
    LIBRARY_OVERRIDE,
  ];
  return `${JSON.stringify({ ...Object(config), overrides }, null, 2)}\n`;
}

/** The entry point of the library, above all modules, re-exports from their entry points. */
const LIBRARY_OVERRIDE = {
  files: ['src/index.ts'],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            regex: '^\\./([^/]+/([^/]+/|[^i]|i[^n]|in[^d])|main\\.ts$)',
            message: 'The library imports modules through their entry points only.',
          },
        ],
      },
    ],
  },
};

/** A rule of a folder takes the place of that of its module, so it has the patterns of both. */
function createFolderOverrides(module: string, layers: readonly (readonly string[])[]) {
  const folders = layers.flat();
  return folders.map((folder) => {
    const below = namesBelow(layers, folder);
    const others = folders.filter((other) => other !== folder && !below.includes(other));
    const pattern = {
      regex: `^(\\.\\./)+(${others.join('|')})/`,
      message: `Of the folders of ${module}, ${folder}/ may import ${below.length > 0 ? `only ${below.join(', ')}` : 'none'}.`,
    };
    return createOverride(`src/${module}/${folder}/**/*.ts`, [
      ...patternsOf(module),
      ...(others.length > 0 ? [pattern] : []),
    ]);
  });
}

function createOverride(files: string, patterns: readonly { readonly regex: string; readonly message: string }[]) {
  return { files: [files], rules: { 'no-restricted-imports': ['error', { patterns }] } };
}

function patternsOf(module: string) {
  const below = modulesBelow(module);
  const others = MODULES.filter((other) => other !== module && !below.includes(other));
  const allowed = below.length > 0 ? `only ${below.join(', ')}` : 'no other module';
  const patterns = [
    {
      regex: `^(\\.\\./)+(${others.join('|')})/`,
      message: `The module ${module} may import ${allowed}. Declare the small interface that it needs here; src/agent passes the module that implements it.`,
    },
    {
      // Matches anything but index.ts. The linter's regular expressions have no look-ahead.
      regex: `^(\\.\\./)+(${below.join('|')})/([^/]+/|[^i]|i[^n]|in[^d])`,
      message:
        'Import another module through its entry point, index.ts. If it does not export what you need, add the export there.',
    },
    {
      regex: '^(\\.\\./)+(main|index)\\.ts$',
      message: 'Nothing imports main.ts and src/index.ts: they are the entry points of the program and the library.',
    },
  ];
  return patterns.filter(({ regex }) => !regex.includes('()'));
}

if (import.meta.main) writeFileSync(CONFIG, renderLintConfig());
