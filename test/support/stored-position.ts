import { crc32 } from 'node:zlib';

/** A position as it is stored. */
export interface StoredPosition {
  [field: string]: unknown;
  readonly pending: { to?: unknown; isRotated?: unknown }[];
}

/** Changes the fields of a stored position, as a version may have left it that wrote others. */
export function editPosition(text: string, edit: (stored: StoredPosition) => void): string {
  const stored = JSON.parse(text.slice(0, text.lastIndexOf('\n'))) as StoredPosition;
  edit(stored);
  const body = JSON.stringify(stored);
  return `${body}\n${crc32(body).toString(16)}`;
}
