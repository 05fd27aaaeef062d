use super::*;

fn avoided(line: &str) -> Vec<&'static str> {
    avoided_in(line).collect()
}

#[test]
fn only_whole_words_are_avoided() {
    assert_eq!(avoided("Nobody was told."), ["nobody", "told"]);
    assert_eq!(avoided("recommend, amended, untold, is not, is now"), [] as [&str; 0]);
    assert_eq!(avoided("this is no test"), ["is no "]);
}

#[test]
fn only_comments_and_strings_of_rust_are_searched() {
    let source = "let told = '\"'; // told\nlet x = \"a \\\" told\" + r#\"raw \" told\"#; told();\n";
    let text = comments_and_strings(source);
    assert_eq!(text.lines().map(|line| avoided(line).len()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(text.lines().count(), source.lines().count());
}

#[test]
fn a_lifetime_is_not_a_string() {
    assert_eq!(avoided(&comments_and_strings("fn f<'a>(told: &'a str) { \"x\" }")), [] as [&str; 0]);
}
