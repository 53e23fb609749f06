/**
 * Text 0.0.4 of prom-client as OpenMetrics, without the mark at its end: families of counters lose their suffix, and there
 * are no empty lines. prom-client's own OpenMetrics output renames its counters for good, so that a registry cannot serve
 * both formats.
 */
export function toOpenMetrics(text: string): string {
  const counters = new Set([...text.matchAll(/^# TYPE (\S+)_total counter$/gm)].map(([, name]) => name));
  return text
    .replaceAll(/^# (HELP|TYPE) (\S+)_total (.*)$/gm, (line, keyword: string, name: string, rest: string) =>
      counters.has(name) ? `# ${keyword} ${name} ${rest}` : line,
    )
    .replaceAll(/^# HELP .*$/gm, (line) => line.replaceAll('"', '\\"'))
    .replaceAll(/\n{2,}/g, '\n');
}
