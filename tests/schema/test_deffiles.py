"""Definition trees as they are found in the wild: where they lie, and what is in their files."""

from __future__ import annotations

import pytest

from terrazzo.errors import DefinitionError
from terrazzo.schema.deffiles import load_tree
from tests.schema.deffiles_trees import PLAIN, clean, names, prop, properties, told, write_tree

# --- where a tree lies ----------------------------------------------------------------------------


@pytest.mark.parametrize("inner", ["", "scripts"])
def test_a_tree_is_found_with_and_without_a_scripts_folder(tmp_path, inner):
    write_tree(tmp_path / inner, {"Barrel.def": properties(PLAIN)})
    clean(load_tree(tmp_path))
    clean(load_tree(str(tmp_path)))
    clean(load_tree(tmp_path / inner / "entity_defs"))


def test_folder_without_a_tree_gives_one_error_with_what_was_looked_for(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        loaded = load_tree(path)
        assert loaded.schema.entities == ()
        assert [each.kind for each in loaded.errors] == ["not a definition tree"]
        assert "entity_defs" in loaded.errors[0].message
        assert "entities.xml" in loaded.errors[0].message
        with pytest.raises(DefinitionError):
            loaded.checked()


def test_ids_count_missing_files_and_server_only_types_come_after(load):
    loaded = load(
        {
            "/entities.xml": "<root><ServerOnlyEntities><Vault/></ServerOnlyEntities>\n"
            "<ClientServerEntities><Keg/><Barrel/></ClientServerEntities>\n<Extra/></root>",
            "Barrel.def": properties(PLAIN),
            "Vault.def": properties(PLAIN),
        }
    )
    assert [(each.name, each.type_id, each.on_client) for each in loaded.schema.entities] == [
        ("Barrel", 2, True),
        ("Vault", 3, False),
    ]
    assert loaded.schema["Vault"].client_properties == ()
    assert told(loaded.errors) == [("entities.xml", 2, "missing definition file")]
    assert told(loaded.warnings) == [("entities.xml", 3, "unknown tag")]


def test_files_that_cannot_be_read_are_errors(load, tmp_path):
    (tmp_path / "entity_defs" / "Folder.def").mkdir(parents=True)
    loaded = load(
        {
            "/entities.xml": "<root><Folder/><Binary/><Packed/><Empty/><Barrel/></root>",
            "Binary.def": bytes(range(256)),
            "Packed.def": b"\x45\x4e\xa1\x62\x00rest",
            "Empty.def": "",
            "Barrel.def": properties(PLAIN),
        }
    )
    assert names(loaded.schema.entities) == ["Barrel"]
    assert [(each.file, each.kind) for each in loaded.errors] == [
        ("entity_defs/Binary.def", "malformed XML"),
        ("entity_defs/Empty.def", "malformed XML"),
        ("entity_defs/Folder.def", "unreadable file"),
        ("entity_defs/Packed.def", "malformed XML"),
    ]
    assert loaded.warnings == []


# --- wild files -----------------------------------------------------------------------------------


def test_undeclared_prefixes_odd_roots_and_tabs(load):
    loaded = load(
        {
            "alias.xml": "<types>\n<xmlns:xsi>http://www.w3.org</xmlns:xsi>\n<HP>\t\tUINT8\t</HP></types>",
            "Barrel.def": "<Barrel.def>\n\t<xmlns:xsi>\thttp://www.w3.org\t</xmlns:xsi>\n"
            "<Properties>\n<hp>\t<Type>\tHP\t</Type>\t<Flags>\tBASE\t</Flags>\t</hp></Properties></Barrel.def>",
        }
    )
    assert loaded.errors == []
    assert told(loaded.warnings) == [
        ("entity_defs/Barrel.def", 2, "unknown tag"),
        ("entity_defs/alias.xml", 2, "unknown tag"),
    ]
    assert loaded.warnings[0].tag == "xmlns:xsi"
    assert loaded.schema["Barrel"].properties[0].type.spell() == "HP"


TEXT = properties(prop("word", "UNICODE_STRING", "BASE", "<Default>бочка</Default>"))


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + TEXT.encode(),
        b'\n \t<?xml version="1.0"?>\n' + TEXT.encode(),
        b'<?xml version="1.0" encoding="windows-1251"?>' + TEXT.encode("cp1251"),
        b"<?xml version='1.0' encoding='koi8-r' ?>" + TEXT.encode("koi8-r"),
        b'<?xml version="1.0" encoding="gb2312"?>' + TEXT.encode("gb2312"),
        TEXT.encode("utf-16"),
        b'<?xml version="1.0" encoding="utf-16"?>' + TEXT.encode(),
    ],
    ids=["bom", "blanks first", "windows-1251", "koi8-r", "gb2312", "utf-16", "not utf-16"],
)
def test_encodings(load, content):
    assert clean(load({"Barrel.def": content})).properties[0].default == "бочка"


@pytest.mark.parametrize("head", [b"", b'<?xml version="1.0" encoding="klingon"?>'])
def test_bytes_in_an_unknown_encoding_are_read_with_a_warning(load, head):
    loaded = load({"Barrel.def": head + "<root><!-- бочка --></root>".encode("cp1251")})
    assert loaded.errors == []
    assert told(loaded.warnings) == [("entity_defs/Barrel.def", 1, "text encoding")]


def test_misspelled_tags_are_passed_over_with_a_hint(load):
    loaded = load(
        {
            "alias.xml": "<root><A> FIXED_DICT\n<AlowNone>true</AlowNone></A></root>",
            "Barrel.def": "<root>\n<volatile/>\n<_BaseMethods/>\n<Properties>"
            + prop("hp", rest="\n<default>300</default>")
            + "</Properties></root>",
        }
    )
    assert loaded.errors == []
    assert [(each.tag, each.line, each.kind) for each in loaded.warnings] == [
        ("volatile", 2, "unknown tag"),
        ("_BaseMethods", 3, "unknown tag"),
        ("default", 5, "unknown tag"),
        ("AlowNone", 2, "unknown tag"),
    ]
    hints = [each.message.rpartition("did you mean ")[2] for each in loaded.warnings]
    assert hints == ["Volatile?", "BaseMethods?", "Default?", "AllowNone?"]


@pytest.mark.parametrize(
    "content",
    [
        '<!DOCTYPE root [\n<!ENTITY a "aaaa">]>\n<root/>',
        '<!DOCTYPE root [\n<!ENTITY a SYSTEM "file:///etc/hostname">]>\n<root>&a;</root>',
    ],
)
def test_entity_declarations_are_refused(load, content):
    assert told(load({"Barrel.def": content}).errors) == [("entity_defs/Barrel.def", 2, "malformed XML")]


def test_a_plain_doctype_is_harmless(load):
    clean(load({"Barrel.def": "<!DOCTYPE root>" + properties(PLAIN)}))


@pytest.mark.parametrize("depth", [300, 100_000])
def test_deeply_nested_elements_are_refused(load, depth):
    loaded = load({"Barrel.def": "<root>\n" + "<a>" * depth + "</a>" * depth + "</root>"})
    assert told(loaded.errors) == [("entity_defs/Barrel.def", 2, "malformed XML")]


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "a b", "x.def"])
def test_a_name_cannot_leave_its_folder(load, name):
    loaded = load(
        {
            "Barrel.def": f"<root><Parent>{name}</Parent>\n"
            f"<Implements><Interface>{name}</Interface></Implements>\n<Components><lid>{name}</lid></Components></root>"
        }
    )
    assert told(loaded.errors) == [("entity_defs/Barrel.def", line, "bad name") for line in (1, 2, 3)]
