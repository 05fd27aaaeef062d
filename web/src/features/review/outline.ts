/** The headings of a markdown text with their lines, for an outline. Lines inside fenced code are not headings. */
export interface PlanHeading {
  level: number;
  title: string;
  line: number;
}

export function planOutline(text: string): PlanHeading[] {
  const headings: PlanHeading[] = [];
  let fence: string | null = null;
  for (const [index, line] of text.split("\n").entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null) {
      if (mark?.startsWith(fence) && /^ {0,3}[`~]+\s*$/.test(line)) fence = null;
      continue;
    }
    if (mark !== undefined) {
      fence = mark;
      continue;
    }
    const match = /^ {0,3}(#{1,6})\s+(.+?)\s*#*\s*$/.exec(line);
    if (match !== null) headings.push({ level: match[1]?.length ?? 1, title: match[2] ?? "", line: index + 1 });
  }
  return headings;
}
