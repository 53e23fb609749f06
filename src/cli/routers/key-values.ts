/**
 * Parses the values of an option that is given as `key=value` and may be repeated: `--query a=1 --query b=2`. Returns them by
 * their keys, or the error for one that has no key.
 */
export function parseKeyValues(flag: string, pairs: readonly string[]): Readonly<Record<string, string>> | string {
  const values: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) return `${flag} ${JSON.stringify(pair)}: expected key=value`;
    values[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return values;
}
