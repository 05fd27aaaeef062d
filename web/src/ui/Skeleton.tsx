/** Grey rows of the size that the content will have. They appear only if loading takes longer than a moment. */
export function SkeletonRows({ count, label }: { count: number; label: string }) {
  return (
    <div role="status" aria-label={`Loading ${label}`} className="animate-appear-late">
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <div key={index} className="flex h-11 items-center gap-4 border-b border-line">
          <div className="h-3 w-16 rounded-sm bg-hover" />
          <div className="h-3 grow rounded-sm bg-hover" />
          <div className="h-3 w-24 rounded-sm bg-hover" />
        </div>
      ))}
    </div>
  );
}
