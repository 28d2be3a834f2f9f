"""What stands in a definition file: levels of detail, volatile, single values, properties and methods."""

from __future__ import annotations

import pytest

from terrazzo.schema.model import ALWAYS, Compression, DetailLevel, Exposed, Index, Volatile
from tests.schema.deffiles_trees import PLAIN, clean, names, prop, properties, told

# --- levels of detail, volatile, the rest ---------------------------------------------------------


def test_levels_of_detail_are_merged_by_label(load):
    loaded = load(
        {
            "Barrel.def": "<root><LoDLevels><level>5<label>FAR</label></level><level>40<label>MID</label>"
            "<hyst>2</hyst></level></LoDLevels><Implements><A/></Implements></root>",
            "interfaces/A.def": "<root><LoDLevels><level>20<label>NEAR</label></level>"
            "<level>90<label>FAR</label><hyst>1</hyst></level></LoDLevels></root>",
        }
    )
    assert clean(loaded).detail_levels == (
        DetailLevel("FAR", 5.0, 10.0),
        DetailLevel("NEAR", 20.0, 10.0),
        DetailLevel("MID", 40.0, 2.0),
    )


def test_too_many_levels_of_detail(load):
    levels = "".join(f"\n<level>{start}<label>L{start}</label></level>" for start in (1, 2, 3, 4))
    user = "<root><Implements><A/></Implements></root>"
    loaded = load(
        {
            "Barrel.def": user,
            "Keg.def": user,
            "interfaces/A.def": f"<root><LoDLevels>{levels}</LoDLevels></root>",
        }
    )
    assert told(loaded.errors) == [("entity_defs/interfaces/A.def", 5, "too many LoD levels")]


def test_bad_levels_do_not_make_the_labels_unknown(load):
    loaded = load(
        {
            "Barrel.def": "<root><LoDLevels>\n<level>near<label>NEAR</label></level>\n"
            "<level>9</level></LoDLevels>"
            f"<Properties>{prop('hp', rest='<DetailLevel>NEAR</DetailLevel>')}</Properties></root>",
        }
    )
    assert told(loaded.errors) == [("entity_defs/Barrel.def", line, "bad LoD level") for line in (2, 3)]
    assert loaded.schema["Barrel"].properties[0].detail_level is None


def test_a_level_that_one_user_of_an_interface_lacks(load):
    loaded = load(
        {
            "Barrel.def": "<root><LoDLevels><level>9<label>NEAR</label></level></LoDLevels>"
            "<Implements><A/></Implements></root>",
            "Keg.def": "<root><Implements><A/></Implements></root>",
            "Tub.def": "<root><Implements><A/></Implements></root>",
            "interfaces/A.def": properties(prop("hp", rest="\n<DetailLevel>NEAR</DetailLevel>")),
        }
    )
    assert told(loaded.errors) == [("entity_defs/interfaces/A.def", 2, "unknown detail level")]
    assert loaded.schema["Barrel"].properties[0].detail_level == "NEAR"
    assert loaded.schema["Keg"].properties[0].detail_level is None


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("", Volatile()),
        ("<position/><yaw>3</yaw>", Volatile(position=ALWAYS, yaw=3.0)),
        ("<position>-1</position><yaw/><pitch>7.5</pitch>", Volatile(yaw=ALWAYS, pitch=7.5)),
    ],
)
def test_volatile(load, inside, expected):
    assert clean(load({"Barrel.def": f"<root><Volatile>{inside}</Volatile></root>"})).volatile == expected


@pytest.mark.parametrize(
    ("inside", "line", "kind"),
    [
        ("<pitch/>\n<yaw>9</yaw>", 2, "volatile order"),
        ("<yaw/><pitch>3</pitch>\n<roll>4</roll>", 3, "volatile order"),
        ("<position>far</position>", 2, "bad number"),
    ],
)
def test_wrong_volatile(load, inside, line, kind):
    loaded = load({"Barrel.def": f"<root>\n<Volatile>{inside}</Volatile></root>"})
    assert told(loaded.errors) == [("entity_defs/Barrel.def", line, kind)]


def test_single_values(load):
    loaded = load(
        {
            "Barrel.def": "<root><AppealRadius>2.5</AppealRadius><Persistent>false</Persistent>"
            "<ExplicitDatabaseID>true</ExplicitDatabaseID><ClientName>Barrel</ClientName>"
            "<NetworkCompression><internal>ZIP</internal></NetworkCompression></root>",
            "Keg.def": "<root><Parent>Barrel</Parent><NetworkCompression><internal>NONE</internal>"
            "<external>ZIP<level>9</level></external></NetworkCompression><Persistent>true</Persistent></root>",
        }
    )
    barrel = clean(loaded)
    assert (barrel.appeal_radius, barrel.persistent, barrel.explicit_database_id) == (2.5, False, True)
    assert barrel.compression == Compression(internal=6)
    keg = loaded.schema["Keg"]
    assert keg.compression == Compression(internal=0, external=9)
    assert (keg.appeal_radius, keg.persistent) == (2.5, True)


def test_wrong_single_values(load):
    loaded = load(
        {
            "Barrel.def": "<root><AppealRadius>wide</AppealRadius>\n<Persistent>maybe</Persistent>\n"
            "<NetworkCompression><internal>ZIP<level>12</level></internal></NetworkCompression></root>"
        }
    )
    assert told(loaded.errors) == [
        ("entity_defs/Barrel.def", 1, "bad number"),
        ("entity_defs/Barrel.def", 3, "bad compression"),
    ]
    assert told(loaded.warnings) == [("entity_defs/Barrel.def", 2, "bad boolean")]
    assert loaded.schema["Barrel"].persistent


# --- properties and methods -----------------------------------------------------------------------


def test_indexes_of_the_database(load):
    loaded = load(
        {
            "Barrel.def": properties(
                prop("a", rest="<Indexed>true</Indexed>"),
                prop("b", rest="<Indexed>true<Unique>true</Unique></Indexed>"),
                prop("c", rest="<Indexed><Unique>true</Unique></Indexed>"),
                prop("d", rest="<Indexed>false<Unique>true</Unique></Indexed>"),
            )
        }
    )
    expected = [Index.INDEXED, Index.UNIQUE, Index.UNIQUE, Index.NONE]
    assert [each.indexed for each in clean(loaded).properties] == expected


def test_header_sizes(load):
    size = "<VariableLengthHeaderSize>{}</VariableLengthHeaderSize>"
    loaded = load(
        {
            "Barrel.def": properties(
                prop("a", rest=size.format(" 4 ")),
                prop("b", rest=size.format("<WarnLevel>log</WarnLevel>")),
                prop("c", rest="\n" + size.format("5")),
            )
        }
    )
    assert [each.header_size for each in loaded.schema["Barrel"].properties] == [4, 1, 1]
    assert told(loaded.warnings) == [("entity_defs/Barrel.def", 2, "bad header size")]


def test_client_properties_depend_on_flags_and_types(load):
    loaded = load(
        {
            "alias.xml": "<root><BAG>ARRAY<of>FIXED_DICT<Properties><who><Type>MAILBOX</Type></who>"
            "</Properties></of></BAG></root>",
            "Barrel.def": "<root><Properties>"
            + prop("a", "BAG", "\nOWN_CLIENT\n")
            + "\n"
            + prop("b", "BAG", "CELL_PUBLIC")
            + prop("c", "PYTHON", "BASE_AND_CLIENT")
            + "\n"
            + prop("d", rest="<IsReliable>false</IsReliable>")
            + "</Properties><ClientMethods>\n<onIt><Arg>BAG</Arg></onIt></ClientMethods></root>",
        }
    )
    assert told(loaded.errors) == [("entity_defs/Barrel.def", 1, "mailbox in client data")]
    assert names(loaded.schema["Barrel"].properties) == ["b", "c", "d"]
    assert [(each.line, each.kind) for each in loaded.warnings] == [
        (4, "python in client data"),
        (5, "unreliable without SendLatestOnly"),
        (6, "mailbox in client data"),
    ]


def test_arguments_and_exposure(load):
    loaded = load(
        {
            "Barrel.def": "<root><CellMethods><roll><Exposed>ALL_CLIENTS</Exposed><Args><far>FLOAT</far>"
            "<Arg>UINT8</Arg></Args></roll><stop><Arg>UINT8</Arg><Arg>INT8</Arg></stop></CellMethods>"
            "<BaseMethods>\n<fill><Exposed>ALL_CLIENTS</Exposed></fill>\n<tap><Exposed>ANYONE</Exposed></tap>\n"
            "<seal><Exposed>OWN_CLIENT</Exposed></seal></BaseMethods></root>",
        }
    )
    assert told(loaded.errors) == [("entity_defs/Barrel.def", line, "unknown exposure") for line in (2, 3)]
    barrel = loaded.schema["Barrel"]
    roll, stop = barrel.cell_methods
    assert [each.name for each in (*roll.args, *stop.args)] == ["far", None, None, None]
    assert (roll.exposed, stop.exposed) == (Exposed.ALL_CLIENTS, Exposed.NO)
    assert [(each.name, each.exposed) for each in barrel.base_methods] == [("seal", Exposed.OWN_CLIENT)]


def test_repeats_within_one_file(load):
    loaded = load(
        {
            "Barrel.def": "<root><Properties>\n"
            + prop("a")
            + "\n"
            + prop("a", "UINT16")
            + "</Properties>\n<Properties/></root>"
        }
    )
    assert [(each.line, each.kind) for each in loaded.warnings] == [
        (3, "duplicate property"),
        (4, "repeated section"),
    ]
    assert [each.type.spell() for each in loaded.schema["Barrel"].properties] == ["UINT16"]


def test_there_are_256_numbers_for_client_properties(load):
    many = [prop(f"p{number}") for number in range(256)]
    clean(load({"Barrel.def": properties(*many, prop("own", flags="BASE"))}))
    loaded = load({"Barrel.def": properties(*many, prop("more"))})
    assert [each.kind for each in loaded.errors] == ["too many client properties"]


def test_all_mistakes_of_a_tree_come_in_one_pass(load):
    loaded = load(
        {
            "/entities.xml": "<root><Barrel/><Keg/>\n<Gone/></root>",
            "alias.xml": "<root><A>NOPE</A>\n<B>ARRAY<of>A</of></B>\n<C>C</C>\n<D/></root>",
            "Barrel.def": properties(
                prop("a", "A"),
                prop("b", "B"),
                "\n",
                prop("c", "UINT7"),
                prop("d", flags="EVERYONE"),
                "\n<e/>",
                "\n<f><Type>UINT8</Type></f>",
                PLAIN,
            ),
            "Keg.def": "<root>\n<Properties></root>",
        }
    )
    assert told(loaded.errors) == [
        ("entities.xml", 2, "missing definition file"),
        ("entity_defs/Barrel.def", 2, "unknown type"),
        ("entity_defs/Barrel.def", 2, "unknown flag"),
        ("entity_defs/Barrel.def", 3, "property without type"),
        ("entity_defs/Barrel.def", 4, "property without flags"),
        ("entity_defs/Keg.def", 2, "malformed XML"),
        ("entity_defs/alias.xml", 1, "unknown type"),
        ("entity_defs/alias.xml", 3, "circular alias"),
        ("entity_defs/alias.xml", 4, "alias without type"),
    ]
    assert names(loaded.schema["Barrel"].properties) == ["hp"]
