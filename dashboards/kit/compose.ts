import {
  type AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  type GridPos,
  type Panel,
  RowBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { createHeadLinks, type DashboardName, TAG, UIDS } from './links.ts';
import type { SizedPanel } from './panels.ts';
import type { Variable } from './variables.ts';

/** Panels under a headline. */
export interface Section {
  readonly title: string;
  /** True to collapse the section at first; its queries run only when it is opened. */
  readonly isClosed?: boolean;
  readonly panels: readonly SizedPanel[];
}

export interface DashboardSpec {
  readonly name: DashboardName;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly annotations?: readonly AnnotationQueryBuilder[];
  /** Initial time range, such as `now-6h`. */
  readonly from: string;
  readonly sections: readonly Section[];
}

const GRID_WIDTH = 24;
/** Scrapes are seldom more frequent, and dashboards on wall displays should not load the server. */
const REFRESH = '1m';

/** Builds a dashboard with the position of every panel: the SDK's own layout sets no panel ids and lets rows overflow. */
export function composeDashboard(spec: DashboardSpec): Dashboard {
  const builder = new DashboardBuilder(spec.title)
    .uid(UIDS[spec.name])
    .description(spec.description)
    .tags([TAG])
    .timezone('browser')
    .editable()
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: spec.from, to: 'now' })
    .refresh(REFRESH)
    .variables([...spec.variables])
    .annotations([...(spec.annotations ?? [])])
    .links(createHeadLinks(spec.name));
  const grid = new Grid();
  for (const { title, isClosed = false, panels } of spec.sections) {
    const row = new RowBuilder(title).id(grid.nextId()).gridPos(grid.nextRow()).collapsed(isClosed);
    const placed = panels.map((panel) => grid.place(panel));
    if (isClosed) for (const panel of placed) row.withPanel(panel);
    builder.withRow(row);
    if (!isClosed) for (const panel of placed) builder.withPanel(panel);
  }
  return showLinks(builder.build());
}

/** Shows links directly: the SDK puts every link into a menu and has no option for this. */
function showLinks(dashboard: Dashboard): Dashboard {
  for (const link of dashboard.links ?? []) delete link.placement;
  return dashboard;
}

/** Fills rows of the grid from left to right; the next row starts below the tallest panel of the previous one. */
class Grid {
  #id = 0;
  #x = 0;
  #y = 0;
  #lineHeight = 0;

  nextId(): number {
    return ++this.#id;
  }

  nextRow(): GridPos {
    this.#endLine();
    const place = { x: 0, y: this.#y, w: GRID_WIDTH, h: 1 };
    this.#y += 1;
    return place;
  }

  place({ builder, width, height }: SizedPanel): { build(): Panel } {
    if (this.#x + width > GRID_WIDTH) this.#endLine();
    const panel: Panel = {
      ...builder.build(),
      id: this.nextId(),
      gridPos: { x: this.#x, y: this.#y, w: width, h: height },
    };
    this.#x += width;
    this.#lineHeight = Math.max(this.#lineHeight, height);
    return { build: () => panel };
  }

  #endLine(): void {
    this.#x = 0;
    this.#y += this.#lineHeight;
    this.#lineHeight = 0;
  }
}
