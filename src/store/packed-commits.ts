import { packLines } from '../base/index.ts';
import type { LogCommit } from './contracts.ts';

/** A commit with its packed records; `body` is absent without records. */
export type PackedCommit = LogCommit & { readonly body: Uint8Array | undefined };

/** Packs the records of commits. */
export function packCommits(commits: readonly LogCommit[]): readonly PackedCommit[] {
  return commits.map((one) => ({ ...one, body: one.lines.length > 0 ? packLines(one.lines) : undefined }));
}
