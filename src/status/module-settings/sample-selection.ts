import { matchesStars } from '../../base/index.ts';

/** Globs of the values of labels, by label name. An absent label has an empty value. */
export type LabelGlobs = Readonly<Record<string, string>>;

/** The series of a metric that are kept; absent: all. */
export interface SampleSelection {
  /** Series that match one of these. Absent: all. */
  readonly allow?: readonly LabelGlobs[] | undefined;
  /** But none that matches one of these. */
  readonly deny: readonly LabelGlobs[];
}

/** Returns true if a series is kept. */
export function isKept({ allow, deny }: SampleSelection, labels: LabelGlobs): boolean {
  const matches = (globs: LabelGlobs) =>
    Object.entries(globs).every(([label, glob]) => matchesStars(labels[label] ?? '', glob));
  return (allow?.some(matches) ?? true) && !deny.some(matches);
}
