//! Pages that mislead and pages that tick: some of each. `cargo xtask soak --hostile N` runs many, of every kind.

use anyhow::Result;
use cuebook_tests::hostile::{Kind, Tally, Trials, chrome};

/// Runs each of the pages of a kind with these names, once for each moment at which it may change.
async fn tally(kind: Kind, names: &[&str]) -> Result<Tally> {
    let few = Trials::few(chrome(None)?, kind, names.len());
    let names = names.iter().map(|&name| name.to_owned()).collect();
    Ok(Trials { names, ..few }.run().await?.remove(kind.name()).unwrap_or_default())
}

#[tokio::test]
async fn what_ticks_elsewhere_fails_no_step() -> Result<()> {
    let names = ["clock", "counter", "titleCounter", "fieldWhileOthersTick", "countdownInDialog", "spinner"];
    let tally = tally(Kind::Ticking, &names).await?;
    assert_eq!((tally.trials, tally.faults()), (names.len(), 0), "{:#?}", tally.examples);
    Ok(())
}

#[tokio::test]
async fn what_a_page_makes_of_our_own_input_withholds_nothing() -> Result<()> {
    let names =
        ["totalInRow", "palette", "nameInRow", "phone", "lines", "renamedAtFocus", "addressAtPress", "boxRenamed"];
    let tally = tally(Kind::Answers, &names).await?;
    assert_eq!((tally.trials, tally.faults()), (names.len(), 0), "{:#?}", tally.examples);
    Ok(())
}

#[tokio::test]
async fn nothing_within_or_about_a_target_is_hit_in_its_place() -> Result<()> {
    let nested = [
        "fills",
        "summaryLink",
        "divLater",
        "labelOfOther",
        "editableFocus",
        "innerDraggable",
        "hoverOfCard",
        "hrefOnHover",
        "popoverOnPress",
        "renamedOnPress",
        "rowOnPress",
        "defaultButton",
        "optionValue",
    ];
    let meaning = ["href", "action", "description", "menu", "dialogList"];
    for (kind, names) in [(Kind::Nested, &nested[..]), (Kind::Meaning, &meaning)] {
        let tally = tally(kind, names).await?;
        assert_eq!((tally.trials, tally.broken), (names.len(), 0), "{:#?}", tally.examples);
        assert_eq!((tally.wrong, tally.false_success, tally.double), (0, 0, 0), "{:#?}", tally.examples);
    }
    Ok(())
}

#[tokio::test]
async fn what_a_page_takes_back_at_once_is_no_success() -> Result<()> {
    let names = ["busyFlip", "activeStyleLater", "snapsBack", "debounced", "rippleAtBody"];
    let tally = tally(Kind::Empty, &names).await?;
    assert_eq!((tally.trials, tally.false_success), (names.len(), 0), "{:#?}", tally.examples);
    Ok(())
}

#[tokio::test]
async fn ids_of_a_plan_file_hit_what_they_were_observed_as_or_nothing() -> Result<()> {
    let names = ["table", "list", "cards", "menus", "forms", "boxes"];
    let few = Trials::few(chrome(None)?, Kind::Ids, names.len());
    let trials = Trials { seed: 7, names: names.map(str::to_owned).to_vec(), ..few };
    let tally = trials.run().await?.remove(Kind::Ids.name()).unwrap_or_default();
    // A heading that counts its records in bare digits makes some needless.
    let came = tally.done + tally.stopped + tally.needless;
    assert_eq!((came, tally.faults() - tally.needless), (names.len(), 0), "{:#?}", tally.examples);
    assert!(tally.done > 0, "{:#?}", tally.examples);
    Ok(())
}

#[tokio::test]
async fn a_download_is_kept_whole_or_reported_as_lost() -> Result<()> {
    let names = ["attachment", "blob", "slow", "pathName", "dropped", "missing", "later", "two"];
    let tally = tally(Kind::Downloads, &names).await?;
    assert_eq!((tally.trials, tally.faults()), (names.len(), 0), "{:#?}", tally.examples);
    assert_eq!((tally.done, tally.stopped), (6, 2));
    Ok(())
}
