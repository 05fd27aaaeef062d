/** A patch for tests: three files, the first with two hunks. */
export const TEST_PATCH = `diff --git a/src/exec.rs b/src/exec.rs
index 1111111..2222222 100644
--- a/src/exec.rs
+++ b/src/exec.rs
@@ -3,4 +3,5 @@ use std::io;
 use a;
-let limit = 10;
+let limit = 20;
+let extra = 1;
 use c;
 use d;
@@ -20,3 +21,3 @@ fn main() {
 one
-two
+zwei
 three
diff --git a/src/new.rs b/src/new.rs
new file mode 100644
--- /dev/null
+++ b/src/new.rs
@@ -0,0 +1,2 @@
+fn added() {}
+// end
diff --git a/old/name.rs b/new/name.rs
similarity index 100%
rename from old/name.rs
rename to new/name.rs
`;

/** The new `src/exec.rs` as a whole: 30 lines. */
export const TEST_FILE = `${Array.from({ length: 30 }, (_, at) => {
  const known: Record<number, string> = {
    3: "use a;",
    4: "let limit = 20;",
    5: "let extra = 1;",
    6: "use c;",
    7: "use d;",
    21: "one",
    22: "zwei",
    23: "three",
  };
  return known[at + 1] ?? `line ${at + 1}`;
}).join("\n")}\n`;
