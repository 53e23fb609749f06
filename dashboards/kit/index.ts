/** What the dashboards are made of: queries, limits, links, variables, panels, and their places. */
export * from './compose.ts';
export * from './limits.ts';
export * from './links.ts';
export * from './panels.ts';
export * from './queries.ts';
export * from './table.ts';
export * from './variables.ts';
