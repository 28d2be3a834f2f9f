"""Definition files that stand on others: parents, interfaces, components."""

from __future__ import annotations

import pytest

from terrazzo.schema.model import Exposed
from tests.schema.deffiles_trees import PLAIN, clean, names, prop, properties, told


@pytest.mark.parametrize(
    "section",
    [
        "<Implements><Interface>A</Interface><Interface>B</Interface></Implements>",
        "<Interfaces><Interface>A</Interface><Interface>B</Interface></Interfaces>",
        "<Interfaces><A/><B/></Interfaces>",
        "<Implements><A/></Implements><Interfaces><Interface> B </Interface></Interfaces>",
    ],
)
def test_ways_to_name_interfaces(load, section):
    loaded = load(
        {
            "Barrel.def": f"<root><Properties>{prop('own')}</Properties>{section}</root>",
            "interfaces/A.def": properties(prop("a")),
            "interfaces/B.def": properties(prop("b")),
        }
    )
    assert names(clean(loaded).properties) == ["a", "b", "own"]


def test_a_property_declared_again_stays_where_it_was(load):
    loaded = load(
        {
            "Keg.def": properties(prop("a"), prop("b", "UINT16"), prop("c")),
            "Barrel.def": "<root><Properties>"
            + prop("d")
            + prop("b", "STRING", "BASE")
            + "</Properties><Parent>Keg</Parent></root>",
        }
    )
    barrel = clean(loaded)
    assert [(each.name, each.type.spell(), each.flags.name) for each in barrel.properties] == [
        ("a", "UINT8", "ALL_CLIENTS"),
        ("b", "STRING", "BASE"),
        ("c", "UINT8", "ALL_CLIENTS"),
        ("d", "UINT8", "ALL_CLIENTS"),
    ]
    assert loaded.schema["Keg"].properties[1].type.spell() == "UINT16"


def test_a_wrong_redefinition_leaves_the_first(load):
    loaded = load(
        {
            "Keg.def": properties(prop("a"), prop("b")),
            "Barrel.def": "<root><Parent>Keg</Parent><Properties>" + prop("a", "NOPE") + "</Properties></root>",
        }
    )
    assert [each.kind for each in loaded.errors] == ["unknown type"]
    assert names(loaded.schema["Barrel"].properties) == ["a", "b"]


def test_first_of_two_methods_stays_and_a_conflict_is_reported_once(load):
    methods = "<root>\n<CellMethods>{}</CellMethods></root>"
    both = "<root><Implements><A/><B/></Implements></root>"
    loaded = load(
        {
            "Barrel.def": both,
            "Keg.def": both,
            "interfaces/A.def": methods.format("<roll><Arg>UINT8</Arg></roll><stop/>"),
            "interfaces/B.def": methods.format("<stop/><roll><Arg>UINT16</Arg></roll>"),
        }
    )
    assert loaded.errors == []
    assert told(loaded.warnings) == [("entity_defs/interfaces/B.def", 2, "conflicting method")]
    assert "interfaces/A.def:2" in loaded.warnings[0].message
    roll, stop = loaded.schema["Barrel"].cell_methods
    assert (roll.name, roll.args[0].type.spell(), stop.name) == ("roll", "UINT8", "stop")


def test_rings_and_missing_files_are_reported_once_and_the_rest_loads(load):
    loaded = load(
        {
            "Barrel.def": "<root><Parent>Keg</Parent>\n<Implements><A/></Implements>\n<Properties>"
            + prop("own", rest="<DetailLevel>NEAR</DetailLevel>")
            + "</Properties></root>",
            "Keg.def": "<root><Parent>Barrel</Parent><Properties>" + prop("lid") + "</Properties></root>",
            "Own.def": "<root><Parent>Own</Parent></root>",
            "interfaces/A.def": "<root><Implements><Gone/></Implements></root>",
        }
    )
    assert told(loaded.errors) == [
        ("entity_defs/Keg.def", 1, "circular Parent"),
        ("entity_defs/Own.def", 1, "circular Parent"),
        ("entity_defs/interfaces/A.def", 1, "missing interface"),
    ]
    assert names(loaded.schema["Barrel"].properties) == ["lid", "own"]
    assert names(loaded.schema["Keg"].properties) == ["lid"]


def test_missing_parent_and_component(load):
    loaded = load(
        {"Barrel.def": "<root><Parent>Keg</Parent>\n<Components><lid>Lid</lid></Components></root>"},
    )
    assert told(loaded.errors) == [
        ("entity_defs/Barrel.def", 1, "missing parent"),
        ("entity_defs/Barrel.def", 2, "missing component"),
    ]


def test_broken_interface_is_reported_once_for_all_its_users(load):
    user = "<root><Implements><A/></Implements><Properties>" + PLAIN + "</Properties></root>"
    loaded = load({"Barrel.def": user, "Keg.def": user, "interfaces/A.def": "<root>"})
    assert told(loaded.errors) == [("entity_defs/interfaces/A.def", 1, "malformed XML")]
    assert names(loaded.schema["Keg"].properties) == ["hp"]


def test_a_chain_of_files_has_an_end(load):
    chain: dict[str, str | bytes] = {
        f"interfaces/I{number}.def": f"<root><Implements><I{number + 1}/></Implements></root>" for number in range(500)
    }
    loaded = load({"Barrel.def": "<root><Implements><I0/></Implements></root>", **chain})
    assert [each.kind for each in loaded.errors] == ["chain too long"]


def test_interfaces_that_fan_out_are_laid_together_once(load):
    fan: dict[str, str | bytes] = {
        f"interfaces/I{number}.def": f"<root><Implements><I{number + 1}/><Interface>I{number + 1}</Interface>"
        f"</Implements><Properties>{prop(f'p{number}')}</Properties></root>"
        for number in range(40)
    }
    fan["interfaces/I40.def"] = properties(prop("p40"))
    loaded = load({"Barrel.def": "<root><Implements><I0/></Implements></root>", **fan})
    assert names(clean(loaded).properties) == [f"p{number}" for number in range(40, -1, -1)]


def test_components(load):
    lid = (
        "<root><Implements><Worn/></Implements><Properties>"
        + prop("open", rest="<DetailLevel>NEAR</DetailLevel>")
        + "</Properties><CellMethods><shut><Exposed/></shut></CellMethods>"
        "<TempProperties><hand/></TempProperties></root>"
    )
    loaded = load(
        {
            "Barrel.def": "<root>"
            "<Components><top>Lid</top><bottom><Type>Lid</Type></bottom><Tap/></Components>"
            "<LoDLevels><level>9<label>NEAR</label></level></LoDLevels>"
            f"<Properties>{prop('size')}</Properties><CellMethods><shut/></CellMethods></root>",
            "Keg.def": f"<root><Parent>Barrel</Parent><Properties>{prop('more')}</Properties></root>",
            "components/Lid.def": lid,
            "components/Tap.def": "<root/>",
            "interfaces/Worn.def": properties(prop("wear")),
        }
    )
    barrel = clean(loaded)
    inside = ["top.wear", "top.open", "bottom.wear", "bottom.open"]
    assert names(barrel.properties) == ["size", *inside]
    assert names(loaded.schema["Keg"].properties) == ["size", "more", *inside]
    assert barrel.components == (("top", "Lid"), ("bottom", "Lid"), ("Tap", "Tap"))
    assert [(each.component, each.exposed) for each in barrel.cell_methods] == [
        (None, Exposed.NO),
        ("top", Exposed.DEFAULT),
        ("bottom", Exposed.DEFAULT),
    ]
    assert barrel.temp_properties == ("top.hand", "bottom.hand")
