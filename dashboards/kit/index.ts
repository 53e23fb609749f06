/** Parts of dashboards: queries, limits, links, variables, panels, and their layout. */
export * from './compose.ts';
export * from './limits.ts';
export * from './links.ts';
export * from './panels.ts';
export * from './queries.ts';
export * from './table.ts';
export * from './variables.ts';
