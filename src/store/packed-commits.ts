import { packBytes, packLines } from '../base/index.ts';
import type { FactsCommit, LogCommit } from './contracts.ts';
import type { RecentRecords } from './recent-lines.ts';

/** A commit with its packed records; `body` is absent without records. */
export type PackedCommit = LogCommit & { readonly body: Uint8Array | undefined };

const LINE_END = Buffer.from('\n');

/** Packs the records of commits. */
export function packCommits(commits: readonly LogCommit[]): readonly PackedCommit[] {
  return commits.map((one) => ({ ...one, body: one.lines.length > 0 ? packLines(one.lines) : undefined }));
}

/** Joins the records that a commit has of each router, whichever logs they are of. */
export function joinByRouter(packed: readonly PackedCommit[]): Map<string, RecentRecords> {
  const joined = new Map<string, RecentRecords>();
  for (const { router, lines, body } of packed) {
    if (!body) continue;
    const before = joined.get(router);
    const bytes = lines.bytes ?? Buffer.from([...lines].join('\n'));
    const all = before ? Buffer.concat([before.bytes, LINE_END, bytes]) : bytes;
    const records = (before?.records ?? 0) + lines.length;
    joined.set(router, { records, bytes: all, body: before ? packBytes(all) : body });
  }
  return joined;
}

/** Packs the records of commits for `EmbeddedStore.addRecent`. */
export function packRecent(commits: readonly (LogCommit | FactsCommit)[]): ReadonlyMap<string, RecentRecords> {
  const logs = commits.filter((commit) => 'position' in commit);
  return joinByRouter(packCommits(logs));
}
