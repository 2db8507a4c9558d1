//! The bill of materials in the form of CycloneDX 1.5: what the binary contains, and what needs what.

use super::graph::{Graph, Package};
use crate::Outcome;
use serde_json::{Value, json};

/// The document. It has no time and no number of its own: the same binary has the same bill.
pub(super) fn text(graph: &Graph) -> Outcome<String> {
    let packages = || graph.packages.iter();
    let components = packages().filter(|(id, _)| **id != graph.root).map(|(_, one)| component(one));
    let needs = packages().map(|(id, one)| {
        let needs = graph.needs.get(id).into_iter().flatten();
        let needs = needs.filter_map(|id| graph.packages.get(id)).map(reference);
        json!({ "ref": reference(one), "dependsOn": needs.collect::<Vec<_>>() })
    });
    let root = packages().find(|(id, _)| **id == graph.root).map(|(_, one)| one);
    let root = root.ok_or_else(|| "the released package is missing".to_owned())?;
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": reference(root),
            "name": "portage",
            "version": root.version,
            "licenses": licences(root),
        } },
        "components": components.collect::<Vec<_>>(),
        "dependencies": needs.collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&document).map_err(|why| why.to_string())
}

/// A name that the document uses for it: the package URL.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn licences(package: &Package) -> Value {
    let expression =
        package.license.iter().map(|text| json!({ "expression": text.replace('/', " OR ") }));
    expression.collect()
}

fn component(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
        "purl": reference(package),
        "licenses": licences(package),
    });
    if let (Some(fields), Some(sum)) = (component.as_object_mut(), &package.checksum) {
        let hashes = json!([{ "alg": "SHA-256", "content": sum }]);
        fields.insert("hashes".to_owned(), hashes);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::sample;
    use super::text;
    use serde_json::{Value, json};

    #[test]
    fn every_package_is_a_component_and_says_what_it_needs() {
        let bill: Value = serde_json::from_str(&text(&sample()).unwrap()).unwrap();
        assert_eq!(bill["metadata"]["component"]["bom-ref"], "pkg:cargo/server@1.0.0");
        let a = json!({
            "type": "library", "bom-ref": "pkg:cargo/a@1.0.0", "name": "a", "version": "1.0.0",
            "purl": "pkg:cargo/a@1.0.0", "licenses": [{ "expression": "MIT" }],
            "hashes": [{ "alg": "SHA-256", "content": "abc" }],
        });
        assert_eq!(bill["components"][0], a);
        assert_eq!(bill["components"].as_array().unwrap().len(), 2);
        let needs = json!({ "ref": "pkg:cargo/server@1.0.0", "dependsOn": ["pkg:cargo/a@1.0.0"] });
        assert!(bill["dependencies"].as_array().unwrap().contains(&needs), "{bill}");
    }
}
