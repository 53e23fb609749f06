/** Small durable facts about a router. */
export interface NoteBook {
  read(router: string, key: string): string | undefined;
  write(router: string, key: string, text: string): void;
}
