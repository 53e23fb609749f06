/** A row of a status resource; a row can hold rows of its own. */
export type StatusRow = Readonly<Record<string, string | readonly Readonly<Record<string, string>>[]>>;

/** Content of `status` in an answer. */
export interface StatusBody {
  readonly unique?: Readonly<Record<string, string>>;
  readonly list?: readonly StatusRow[];
}
