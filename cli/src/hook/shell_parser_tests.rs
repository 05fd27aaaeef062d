use super::{Connector, Item, parse};

/// Words separated by spaces, uncertain ones marked with `?`; commands separated by `;`.
fn render(line: &str) -> String {
    let script = parse(line);
    let items = script.items.iter().map(|item| match item {
        Item::SubshellStart => "(".to_owned(),
        Item::SubshellEnd => ")".to_owned(),
        Item::Command(command) => {
            let words = command.words.iter().map(|word| {
                let text = word.text.replace(' ', "_");
                if word.uncertain { format!("{text}?") } else { text }
            });
            let words = words.collect::<Vec<_>>().join(" ");
            match &command.input {
                Some(input) => format!("{words} << {input:?}"),
                None => words,
            }
        }
    });
    let items = items.collect::<Vec<_>>().join("; ");
    if script.broken { format!("{items} (broken)") } else { items }
}

#[test]
fn lines_are_split_as_a_shell_splits_them() {
    let table = [
        ("git commit -m 'a b'", "git commit -m a_b"),
        ("a && b || c; d & e | f\ng", "a; b; c; d; e; f; g"),
        (r#"git commit -m "it's \"x\" \$y""#, "git commit -m it's_\"x\"_$y"),
        (
            r"a\ b c\
d",
            "a_b cd",
        ),
        ("echo 'git commit' # git push", "echo git_commit"),
        ("echo a#b", "echo a#b"),
        ("x=$(git commit) y", "(; git commit; ); x=? y"),
        ("echo `git push`", "(; git push; ); echo ?"),
        ("echo \"$(cd a && git commit -m \"b c\")\"", "(; cd a; git commit -m b_c; ); echo ?"),
        ("(cd a; b) c", "(; cd a; b; ); c"),
        ("git commit >out 2>&1 </dev/null -m x", "git commit -m x"),
        ("git commit &>log", "git commit"),
        ("echo $A ${B:-c d} \"$C\"", "echo $A? ${B:-c_d}? $C?"),
        ("cat <<EOF\ngit commit\nEOF\nls", "cat << \"git commit\\n\"; ls"),
        ("git commit -F - <<-'E' && ls\n\tit's\n\tE\npwd", "git commit -F - << \"it's\\n\"; ls; pwd"),
        ("bash <<< 'git push'", "bash << \"git push\""),
        ("diff <(git commit) b", "(; git commit; ); diff ? b"),
        (
            "git commit -m \"$(cat <<'EOF'\nit's (1) \"x\nEOF\n)\" && git push",
            "(; cat << \"it's (1) \\\"x\\n\"; ); git commit -m ?; git push",
        ),
        ("echo $( (a) ; b ) c", "(; (; a; ); b; ); echo ? c"),
        ("echo 'open", "echo open (broken)"),
        ("echo $(git commit", "(; git commit; ); echo ? (broken)"),
        ("cd ~/a", "cd ~/a?"),
        ("a $'x\\ty'", "a x\ty"),
        ("", ""),
    ];
    for (line, expected) in table {
        assert_eq!(render(line), expected, "{line}");
    }
}

#[test]
fn the_operators_between_commands_are_kept() {
    use Connector::{And, Background, Or, Pipe, Sequence};
    let connectors =
        parse("a && b || c; d & e | f |& g |\n h\n(i) | j").items.into_iter().filter_map(|item| match item {
            Item::Command(command) => Some(command.connector),
            Item::SubshellStart | Item::SubshellEnd => None,
        });
    assert_eq!(
        connectors.collect::<Vec<_>>(),
        [Sequence, And, Or, Sequence, Background, Pipe, Pipe, Pipe, Sequence, Pipe]
    );
}
