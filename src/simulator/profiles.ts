/** A stored configuration. The field names are those of the interface. */
export interface Profile {
  readonly name: string;
  readonly last_activated: boolean;
  readonly modified: boolean;
}

/** The profiles of a fresh router: the running one and a spare. */
export function createProfiles(): Profile[] {
  return [
    { name: 'Profile', last_activated: true, modified: false },
    { name: 'quick_start_profile', last_activated: false, modified: false },
  ];
}
