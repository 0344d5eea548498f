//! Shadow roots, open and closed.

use std::collections::HashSet;

use cuebook_grammar::observation::Scope;

use crate::stage::{Stage, names};

#[tokio::test(flavor = "multi_thread")]
async fn closed_and_nested_shadow_roots_are_walked() {
    let mut stage = Stage::on(
        "<div id=outer></div><x-card></x-card><div id=plain style='height:30px'></div><script>
         outer.attachShadow({mode:'open'}).innerHTML = '<button>In open</button>';
         const card = document.querySelector('x-card').attachShadow({mode:'closed'});
         card.innerHTML = '<button>In closed</button><y-card></y-card><slot></slot>';
         document.querySelector('x-card').innerHTML = '<button>Slotted</button>';
         card.querySelector('y-card').attachShadow({mode:'closed'}).innerHTML = '<button>Deep closed</button>';
         plain.attachShadow({mode:'closed'}).innerHTML = '<button>In plain</button>';
         </script>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let found: HashSet<_> = names(&seen).into_iter().collect();
    let expected = HashSet::from(["In open", "In closed", "Deep closed", "Slotted", "In plain"]);
    assert_eq!(found, expected);
    assert!(seen.candidates.iter().all(|c| c.occlusion.is_none()), "{:?}", seen.candidates);
}
