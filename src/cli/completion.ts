interface CommandLike {
  name(): string;
  description(): string;
  readonly commands: readonly CommandLike[];
  readonly options: readonly OptionLike[];
  readonly registeredArguments: readonly { readonly argChoices?: readonly string[] | undefined }[];
}

interface OptionLike {
  readonly long?: string | undefined;
  readonly flags: string;
  readonly description: string;
  /** True if it takes a value. */
  readonly required: boolean;
  readonly optional: boolean;
  readonly argChoices?: readonly string[] | undefined;
}

interface Level {
  /** Preceding commands, each after a space, such as ` logs list`; empty at the start. */
  readonly at: string;
  readonly words: readonly Word[];
  readonly flags: readonly Flag[];
}

interface Word {
  readonly word: string;
  readonly description: string;
}

interface Flag extends Word {
  readonly value: 'none' | 'path' | 'any' | readonly string[];
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** `defaultCommand`: its flags also work without its name. */
export function renderCompletion(shell: (typeof SHELLS)[number], program: CommandLike, defaultCommand: string): string {
  const levels = listLevels(program, '', defaultCommand);
  const commands = levels.map(({ at }) => at).filter((at) => at !== '');
  const render = { bash: renderBash, zsh: renderZsh, fish: renderFish }[shell];
  return render(program.name(), levels, commands);
}

function listLevels(command: CommandLike, at: string, defaultCommand?: string): readonly Level[] {
  const implied = command.commands.filter((one) => one.name() === defaultCommand);
  const options = [command, ...implied].flatMap((one) => one.options);
  const words = [
    ...command.commands.map((one) => ({ word: one.name(), description: firstSentence(one.description()) })),
    ...command.registeredArguments.flatMap(({ argChoices = [] }) =>
      argChoices.map((word) => ({ word, description: '' })),
    ),
  ];
  const help: Flag = { word: '--help', description: 'display help', value: 'none' };
  const flags = [...options.flatMap(toFlag), help];
  return [{ at, words, flags }, ...command.commands.flatMap((one) => listLevels(one, `${at} ${one.name()}`))];
}

function toFlag({ long, flags, description, required, optional, argChoices }: OptionLike): readonly Flag[] {
  if (long === undefined) return [];
  const kind = /<(path|file|folder)>/.test(flags) ? 'path' : 'any';
  return [{ word: long, description, value: required || optional ? (argChoices ?? kind) : 'none' }];
}

function firstSentence(text: string): string {
  return text.split('. ')[0]?.replace(/\.$/, '') ?? '';
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Patterns of the flags whose value is `kind`, each with its commands. */
function patternsOf(levels: readonly Level[], kind: 'path' | 'any'): string {
  return levels
    .flatMap(({ at, flags }) => flags.filter(({ value }) => value === kind).map(({ word }) => quote(`${at} ${word}`)))
    .join('|');
}

function listChoices(levels: readonly Level[]): readonly { readonly pattern: string; readonly choices: string }[] {
  return levels.flatMap(({ at, flags }) =>
    flags.flatMap(({ word, value }) =>
      typeof value === 'string' ? [] : [{ pattern: quote(`${at} ${word}`), choices: value.join(' ') }],
    ),
  );
}

function renderBash(name: string, levels: readonly Level[], commands: readonly string[]): string {
  const choices = listChoices(levels).map(({ pattern, choices: list }) => `    ${pattern}) words='${list}' ;;\n`);
  const lists = levels.map(({ at, words, flags }) => {
    return `        ${quote(at)}) words='${[...words, ...flags].map(({ word }) => word).join(' ')}' ;;\n`;
  });
  return `# Completion of ${name} for bash; made by \`${name} completion bash\`.
_router_exporter() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} at='' index words=''
  # bash splits --flag=value into three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$at \${COMP_WORDS[index]}" in
      ${commands.map(quote).join('|')}) at="$at \${COMP_WORDS[index]}" ;;
    esac
  done
  case "$at $previous" in
    ${patternsOf(levels, 'path')})
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    ${patternsOf(levels, 'any')}) return ;;
${choices.join('')}    *)
      case "$at" in
${lists.join('')}      esac
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _router_exporter ${name}
`;
}

function renderZsh(name: string, levels: readonly Level[], commands: readonly string[]): string {
  const choices = listChoices(levels).map(
    ({ pattern, choices: list }) => `    (${pattern}) compadd -- ${list}; return ;;\n`,
  );
  const describe = ({ word, description }: Word) => quote(description === '' ? word : `${word}:${description}`);
  const lists = levels.map(({ at, words, flags }) => {
    const list = (title: string, some: readonly Word[]) => `${title}=(${some.map(describe).join(' ')})`;
    return `    (${quote(at)}) ${list('names', words)} ${list('flags', flags)} ;;\n`;
  });
  return `#compdef ${name}
# Completion of ${name} for zsh; made by \`${name} completion zsh\`.
_router_exporter() {
  local at='' word current=\${words[CURRENT]} previous=\${words[CURRENT-1]}
  local -a names flags
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    compset -P '*='
  fi
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${commands.map(quote).join('|')}) at="$at $word" ;;
    esac
  done
  case "$at $previous" in
    (${patternsOf(levels, 'path')}) _files; return ;;
    (${patternsOf(levels, 'any')}) return ;;
${choices.join('')}  esac
  case "$at" in
${lists.join('')}  esac
  if [[ $current == -* ]]; then
    _describe -o option flags
  else
    _describe command names
  fi
}
# Loaded from a folder of functions, this file is the function itself, at its first call.
if [[ \${funcstack[1]} == _${name} ]]; then
  _router_exporter
else
  compdef _router_exporter ${name}
fi
`;
}

function renderFish(name: string, levels: readonly Level[], commands: readonly string[]): string {
  const fishQuote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
  const lines = levels.flatMap(({ at, words, flags }) => {
    const begin = `complete -c ${name} -n ${fishQuote(`__router_exporter_at "${at}"`)}`;
    const describe = ({ description }: Word) => (description === '' ? '' : ` -d ${fishQuote(description)}`);
    const takes = ({ value }: Flag) => {
      if (value === 'none') return '';
      if (value === 'path') return ' -r -F';
      return value === 'any' ? ' -x' : ` -x -a '${value.join(' ')}'`;
    };
    return [
      ...words.map((one) => `${begin} -a ${one.word}${describe(one)}\n`),
      ...flags.map((one) => `${begin} -l ${one.word.slice(2)}${takes(one)}${describe(one)}\n`),
    ];
  });
  return `# Completion of ${name} for fish; made by \`${name} completion fish\`.
function __router_exporter_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case ${commands.map(fishQuote).join(' ')}
                set at "$at $word"
        end
    end
    test "$at" = "$argv"
end
complete -c ${name} -f
${lines.join('')}`;
}
